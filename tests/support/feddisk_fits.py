"""FedDisk's local density models and ratio classifiers, each fitted in one call."""

from fedlib.methods.feddisk.density_models import start_local, train_local
from fedlib.methods.feddisk.density_ratio import epochs_taken, probabilities, start_ratio, train_ratio
from fedlib.methods.feddisk.early_stopping import fitted


def fit_local_mades(task, made):
    """Models `ld_k`, lanes [R * N] replica by replica."""
    return fitted(train_local(task, made, start_local(task, made), made.max_rounds))


def fit_ratio(task, ratio, outputs, replica):
    """h [M] of each feed, and the epochs that each client's classifier took [N]."""
    start = start_ratio(task, ratio, outputs, replica)
    course = train_ratio(task, ratio, outputs, replica, start, ratio.max_epochs)
    return probabilities(task, ratio, outputs, replica, course), epochs_taken(course, ratio)
