"""Generated chest pictures in three acquisition styles, what `standin-xray` is made of.

A body, two dark lungs with ribs, a heart; an abnormal picture has faint soft opacities inside the
lungs, a normal one has faint shadows anywhere *outside* them, so brightness alone tells nothing.
A style is a machine: exposure, contrast curve, sharpness, noise, framing and a bright marker.
"""

from dataclasses import dataclass, replace

import numpy as np

from fedlib.errors import check

CHUNK = 1000


@dataclass(frozen=True)
class Machine:
    """An acquisition style; pixels in [0, 1]."""

    gamma: float
    contrast: float
    brightness: float
    noise: float
    zoom: float  # how much of the picture the body fills
    ribs: float  # contrast of the ribs
    vignette: float  # darkening towards the corners
    marker: bool  # a bright square in a corner


# stand-ins for COVID-19 Radiography, Shenzhen and UCSD/Kermany
MACHINES = (
    Machine(
        gamma=0.8, contrast=0.9, brightness=0.08, noise=0.05, zoom=1.0, ribs=0.06, vignette=0.0, marker=True
    ),
    Machine(
        gamma=1.5, contrast=1.2, brightness=-0.05, noise=0.03, zoom=1.2, ribs=0.14, vignette=0.1, marker=False
    ),
    Machine(
        gamma=1.0, contrast=0.65, brightness=0.2, noise=0.08, zoom=0.85, ribs=0.04, vignette=0.4, marker=False
    ),
)


PARTS = (2, 15, 33)  # of 50: how many pictures come from each machine (FEDDISK-A23)


def machines(spread: int = 100) -> tuple[Machine, ...]:
    """The machines, their numbers drawn together: at `spread` percent of their distance from the mean.

    The mean is that over all pictures. 100 is as above; the marker stays. UsageError outside 0 to 100.
    """
    check(0 <= spread <= 100, f"spread={spread} given for data set 'standin-xray'; allowed: 1 to 100 percent")
    if spread == 100:
        return MACHINES
    names = [name for name, value in vars(MACHINES[0]).items() if not isinstance(value, bool)]
    mean = {
        n: sum(part * getattr(m, n) for part, m in zip(PARTS, MACHINES, strict=True)) / sum(PARTS)
        for n in names
    }
    return tuple(
        replace(m, **{n: mean[n] + spread / 100 * (getattr(m, n) - mean[n]) for n in names}) for m in MACHINES
    )


def draw_chests(labels: np.ndarray, machine: Machine, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a picture for each label (0 normal, 1 abnormal), uint8 [n, size, size]."""
    parts = [labels[start : start + CHUNK] for start in range(0, len(labels), CHUNK)]
    return np.concatenate([_expose(_anatomy(part, machine, size, rng), machine, rng) for part in parts])


def _bump(x: np.ndarray, y: np.ndarray, centre: np.ndarray, radii: np.ndarray, edge: float) -> np.ndarray:
    """Soft ellipses [n, size, size] in [0, 1]; centre, radii: [n, 2]; edge: softness of the rim."""
    away = ((x - centre[:, 0, None, None]) / radii[:, 0, None, None]) ** 2
    away = away + ((y - centre[:, 1, None, None]) / radii[:, 1, None, None]) ** 2
    return 1 / (1 + np.exp(np.minimum((away - 1) / edge, 50)))


def _anatomy(labels: np.ndarray, machine: Machine, size: int, rng: np.random.Generator) -> np.ndarray:
    count = len(labels)
    axis = (np.arange(size) + 0.5) / size * 2 - 1
    shift = rng.normal(0, 0.06, (2, count, 1, 1))
    x = axis[None, None, :] / machine.zoom - shift[0]
    y = axis[None, :, None] / machine.zoom - shift[1]
    picture = 0.55 * _bump(x, y, np.zeros((count, 2)), rng.normal([0.95, 1.2], 0.05, (count, 2)), 0.15)
    lungs = np.zeros_like(picture)
    centres = []
    for side in (-1, 1):
        centre = rng.normal([side * 0.42, 0.0], 0.03, (count, 2))
        lungs += _bump(x, y, centre, rng.normal([0.3, 0.62], 0.04, (count, 2)), 0.2)
        centres.append(centre)
    picture -= 0.4 * lungs
    picture += 0.25 * _bump(
        x, y, rng.normal([0.12, 0.3], 0.03, (count, 2)), rng.normal([0.3, 0.32], 0.03, (count, 2)), 0.3
    )
    bend = rng.uniform(0.2, 0.6, (count, 1, 1))
    spacing, phase = rng.uniform(16, 22, (count, 1, 1)), rng.uniform(0, 2 * np.pi, (count, 1, 1))
    picture += machine.ribs * lungs * np.cos(spacing * (y + bend * x**2) + phase)
    return picture + _opacities(labels, x, y, np.stack(centres, axis=1), rng)


def _opacities(
    labels: np.ndarray, x: np.ndarray, y: np.ndarray, lungs: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Three faint shadows per picture: inside a lung where abnormal, at the body's rim where normal."""
    count = len(labels)
    picture = np.zeros((count, y.shape[1], x.shape[2]))
    for _ in range(3):
        inside = lungs[np.arange(count), rng.integers(2, size=count)] + rng.normal(0, [0.1, 0.25], (count, 2))
        angle = rng.uniform(0, 2 * np.pi, count)
        outside = np.stack([0.95 * np.cos(angle), 1.0 * np.sin(angle)], axis=1)
        centre = np.where(labels[:, None] == 1, inside, outside)
        strength = rng.uniform(0.02, 0.22, (count, 1, 1))
        picture += strength * _bump(x, y, centre, rng.uniform(0.1, 0.28, (count, 2)), 0.5)
    return picture


def _expose(picture: np.ndarray, machine: Machine, rng: np.random.Generator) -> np.ndarray:
    count, size = picture.shape[:2]
    axis = (np.arange(size) + 0.5) / size * 2 - 1
    away = axis[:, None] ** 2 + axis[None, :] ** 2
    exposure = np.exp(rng.normal(0, 0.1, (count, 1, 1)))
    picture = np.clip(picture * exposure, 0, 1) ** machine.gamma * machine.contrast + machine.brightness
    picture = picture * (1 - machine.vignette * away / 2) + rng.normal(0, machine.noise, picture.shape)
    if machine.marker:
        picture[:, 1 : 1 + size // 10, 1 : 1 + size // 6] = 0.95
    return np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
