"""Local training in JAX, one epoch of all clients; run by an interpreter that has FedJAX and optax.

    python jax_child.py NETWORK CLIENTS STEPS BATCH FORM       (see child.py for the conversation)

FORM: `fedjax` is its `for_each_client`, one jitted client after the other; `jax` is one jitted computation
of all clients, each a `scan` over steps: `vmap` over clients of the fully connected network, `lax.map` over
those with convolutions, which vmap would turn into grouped ones (ten times slower on a CPU). Dropout and
the running averages of batch normalisation are left out, which favours JAX.
Reference: J. H. Ro, A. T. Suresh, K. Wu, "FedJAX: Federated learning simulation with JAX", 2021,
https://arxiv.org/abs/2108.02117.
"""

import itertools
import re
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from fedjax.core.for_each_client import for_each_client
from jax import lax

sys.path.insert(0, str(Path(__file__).parents[1]))
from networks import NETWORKS  # this interpreter has no fedlib

# convolutions (side of the kernel, maps, whether pooled), hidden units, batch normalisation
LAYERS = {
    "mlp": ((), (100,), False),
    "lenet": (((5, 10, True), (5, 20, True)), (50,), False),
    "lenet5": (((5, 6, True), (5, 16, True)), (120, 84), False),
    "cnn-feddrl": (((5, 32, True), (5, 64, True)), (512,), False),
    "cnn-feddisk": (((5, 16, True), (5, 16, True)), (16,), True),
    "cnn-frl": (((3, 32, False), (3, 64, True)), (128,), False),
}


def uniform(key, fan_in, shape):
    bound = 1 / np.sqrt(fan_in)
    return jax.random.uniform(key, shape, minval=-bound, maxval=bound), jnp.zeros(shape[-1])


def normalise(x, scale, shift):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift


def make(name):
    """Initial parameters and a function (params, x [batch, 28, 28, 1]) -> logits."""
    convolutions, hidden, normalised = LAYERS[name]
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 8))
    side, maps, blocks = 28, 1, []
    for kernel, out, pooled in convolutions:
        blocks.append(uniform(next(keys), maps * kernel**2, (kernel, kernel, maps, out)))
        side, maps = (side - kernel + 1) // (2 if pooled else 1), out
    sizes = [side * side * maps, *hidden, 10]
    dense = [uniform(next(keys), n, (n, m)) for n, m in itertools.pairwise(sizes)]
    scales = [(jnp.ones(out), jnp.zeros(out)) for _, out, _ in convolutions if normalised]

    def apply(params, x):
        blocks, scales, dense = params
        for number, ((w, b), (_, _, pooled)) in enumerate(zip(blocks, convolutions, strict=True)):
            x = (
                lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
                + b
            )
            if pooled:
                x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            x = jax.nn.relu(x)
            x = normalise(x, *scales[number]) if scales else x
        x = x.reshape(x.shape[0], -1)
        for w, b in dense[:-1]:
            x = jax.nn.relu(x @ w + b)
        return x @ dense[-1][0] + dense[-1][1]

    return (blocks, scales, dense), apply


def local_optimizer(network):
    if network.optimizer == "adadelta":
        return optax.adadelta(network.rate, rho=0.9, eps=1e-6)
    decay, momentum = network.options.get("weight_decay", 0), network.options.get("momentum")
    rule = optax.sgd(network.rate, momentum=momentum)
    return optax.chain(optax.add_decayed_weights(decay), rule) if decay else rule


def make_run(name, clients, steps, batch, form):
    """One epoch of all clients, the images on the device beforehand."""
    params, apply = make(name)
    rule = local_optimizer(NETWORKS[name])
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(clients, steps, batch, 28, 28, 1)).astype(np.float32))
    y = jnp.asarray(rng.integers(0, 10, (clients, steps, batch)))

    def loss(params, x, y):
        logs = jax.nn.log_softmax(apply(params, x))
        return -jnp.take_along_axis(logs, y[:, None], 1).mean()

    def step(state, batch):
        params, moments = state
        changes, moments = rule.update(jax.grad(loss)(params, batch["x"], batch["y"]), moments, params)
        return optax.apply_updates(params, changes), moments

    if form == "jax":
        return as_one_computation(params, rule, step, x, y, vectorised=not LAYERS[name][0])
    batches = [[{"x": x[k, s], "y": y[k, s]} for s in range(steps)] for k in range(clients)]
    train = for_each_client(lambda shared, _: (shared, rule.init(shared)), step, lambda _, state: state[0])

    def run():
        results = train(params, [(k, batches[k], None) for k in range(clients)])
        jax.block_until_ready([local for _, local in results])

    return run


def as_one_computation(params, rule, step, x, y, vectorised):
    """All clients in one jitted call: vectorised, or one after the other."""

    def train_client(batches):
        final, _ = lax.scan(
            lambda state, batch: (step(state, batch), None), (params, rule.init(params)), batches
        )
        return final[0]

    train = jax.jit(
        jax.vmap(train_client) if vectorised else lambda all_clients: lax.map(train_client, all_clients)
    )
    return lambda: jax.block_until_ready(train({"x": x, "y": y}))


def peak_mib():
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()).group(1)) / 1024


def main():
    name, clients, steps, batch, form = sys.argv[1:6]
    before = peak_mib()
    run = make_run(name, int(clients), int(steps), int(batch), form)
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
