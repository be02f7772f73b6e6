"""FRL report (Orange, 2023): EvaluatorFL and SchedulerFL."""
