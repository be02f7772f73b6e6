"""FedJAX's `for_each_client`, one jitted client after the other; run by an interpreter that has FedJAX.

    python fedjax_child.py NETWORK CLIENTS STEPS BATCH RATE       (see child.py for the conversation)

Reference: J. H. Ro, A. T. Suresh, K. Wu, "FedJAX: Federated learning simulation with JAX", 2021,
https://arxiv.org/abs/2108.02117.
"""

import re
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from fedjax.core.for_each_client import for_each_client
from jax import lax


def dense(key, n, m):
    bound = 1 / np.sqrt(n)
    return jax.random.uniform(key, (n, m), minval=-bound, maxval=bound), jnp.zeros(m)


def kernel(key, out, channels):
    bound = 1 / np.sqrt(channels * 25)
    return jax.random.uniform(key, (5, 5, channels, out), minval=-bound, maxval=bound), jnp.zeros(out)


def convolve_and_pool(x, weights):
    w, b = weights
    x = lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) + b
    return jax.nn.relu(lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"))


def make(name):
    """Initial parameters and a function (params, x [batch, 28, 28, 1]) -> logits."""
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 8))
    if name == "mlp":
        params = [dense(next(keys), 784, 100), dense(next(keys), 100, 10)]
    else:
        first, second, hidden = {"lenet": (10, 20, 50), "cnn-feddrl": (32, 64, 512)}[name]
        params = [kernel(next(keys), first, 1), kernel(next(keys), second, first)]
        params += [dense(next(keys), second * 16, hidden), dense(next(keys), hidden, 10)]

    def apply(params, x):
        for weights in params[:-2]:
            x = convolve_and_pool(x, weights)
        x = x.reshape(x.shape[0], -1)
        (w, b), (v, c) = params[-2:]
        return jax.nn.relu(x @ w + b) @ v + c

    return params, apply


def make_run(name, clients, steps, batch, rate):
    """One epoch of all clients; dropout of the larger network is left out, which favours FedJAX."""
    params, apply = make(name)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(clients, steps, batch, 28, 28, 1)).astype(np.float32)
    y = rng.integers(0, 10, (clients, steps, batch))
    batches = [[{"x": x[k, s], "y": y[k, s]} for s in range(steps)] for k in range(clients)]

    def loss(params, batch):
        logs = jax.nn.log_softmax(apply(params, batch["x"]))
        return -jnp.take_along_axis(logs, batch["y"][:, None], 1).mean()

    def step(params, batch):
        grads = jax.grad(loss)(params, batch)
        return jax.tree_util.tree_map(lambda p, g: p - rate * g, params, grads)

    train = for_each_client(lambda shared, _: shared, step, lambda _, params: params)

    def run():
        results = train(params, [(k, batches[k], None) for k in range(clients)])
        jax.block_until_ready([local for _, local in results])

    return run


def peak_mib():
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()).group(1)) / 1024


def main():
    name, clients, steps, batch, rate = sys.argv[1:6]
    before = peak_mib()
    run = make_run(name, int(clients), int(steps), int(batch), float(rate))
    run()
    print("ready:", flush=True)
    for line in sys.stdin:
        if line.strip() == "peak":
            print(f"peak:{peak_mib() - before}", flush=True)
            continue
        started = time.perf_counter()
        run()
        print(f"run:{time.perf_counter() - started}", flush=True)


if __name__ == "__main__":
    main()
