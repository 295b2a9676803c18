"""Bundle adjustment: the squared error of points seen by cameras, and its gradient in all of both.

A camera has eleven parameters: a rotation vector, its centre, the focal length, the middle of the picture and two
coefficients of radial distortion. The model is that of ADBench and of "Bundle Adjustment in the Large".
"""

from __future__ import annotations

from collections.abc import Iterator

import native
import numpy as np
import peers
from harness import Case

from pullback import value_and_grad


def turned(rotation, x):
    """Each x, turned about its rotation vector by that vector's length (Rodrigues)."""
    angle = np.sqrt(np.sum(rotation * rotation, axis=1, keepdims=True))
    axis = rotation / angle
    along = np.sum(axis * x, axis=1, keepdims=True)
    return np.cos(angle) * x + np.sin(angle) * np.cross(axis, x) + (1 - np.cos(angle)) * along * axis


def project(camera, point):
    seen = turned(camera[:, 0:3], point - camera[:, 3:6])
    flat = seen[:, 0:2] / seen[:, 2:3]
    square = np.sum(flat * flat, axis=1, keepdims=True)
    distortion = 1 + camera[:, 9:10] * square + camera[:, 10:11] * square * square
    return camera[:, 6:7] * distortion * flat + camera[:, 7:9]


def squared_error(cameras, points, observed, by, of):
    """`observed` are places in pictures, `by` the numbers of the cameras, `of` those of the points."""
    error = project(cameras[by], points[of]) - observed
    return np.sum(error * error)


def by_hand(cameras, points, observed, by, of):
    def dot(a, b):
        return np.sum(a * b, axis=1, keepdims=True)

    camera = cameras[by]
    rotation, focal, first, second = camera[:, 0:3], camera[:, 6:7], camera[:, 9:10], camera[:, 10:11]
    x = points[of] - camera[:, 3:6]
    angle = np.sqrt(dot(rotation, rotation))
    axis, c, s = rotation / angle, np.cos(angle), np.sin(angle)
    along, across = dot(axis, x), np.cross(axis, x)
    seen = c * x + s * across + (1 - c) * along * axis
    flat = seen[:, 0:2] / seen[:, 2:3]
    square = dot(flat, flat)
    distortion = 1 + first * square + second * square * square
    error = focal * distortion * flat + camera[:, 7:9] - observed
    back = 2 * error
    pulled = dot(flat, back)
    to_flat = focal * distortion * back + 2 * focal * pulled * (first + 2 * second * square) * flat
    to_seen = np.concatenate([to_flat, -dot(flat, to_flat)], axis=1) / seen[:, 2:3]
    to_x = c * to_seen - s * np.cross(axis, to_seen) + (1 - c) * dot(axis, to_seen) * axis
    to_angle = dot(to_seen, c * across + s * (along * axis - x))
    to_axis = s * np.cross(x, to_seen) + (1 - c) * (along * to_seen + dot(axis, to_seen) * x)
    to_rotation = (to_axis - dot(axis, to_axis) * axis) / angle + to_angle * axis
    parts = [to_rotation, -to_x, distortion * pulled, back, focal * pulled * square, focal * pulled * square * square]
    g_cameras, g_points = np.zeros_like(cameras), np.zeros_like(points)
    np.add.at(g_cameras, by, np.concatenate(parts, axis=1))
    np.add.at(g_points, of, to_x)
    return np.sum(error * error), (g_cameras, g_points)


def by_torch(torch, cameras, points, observed, by, of):
    camera = cameras[by]
    rotation, x = camera[:, 0:3], points[of] - camera[:, 3:6]
    angle = torch.sqrt((rotation * rotation).sum(1, keepdim=True))
    axis = rotation / angle
    c, s = torch.cos(angle), torch.sin(angle)
    seen = c * x + s * torch.linalg.cross(axis, x) + (1 - c) * (axis * x).sum(1, keepdim=True) * axis
    flat = seen[:, 0:2] / seen[:, 2:3]
    square = (flat * flat).sum(1, keepdim=True)
    distortion = 1 + camera[:, 9:10] * square + camera[:, 10:11] * square * square
    error = camera[:, 6:7] * distortion * flat + camera[:, 7:9] - observed
    return (error * error).sum()


def problem(n_cameras: int, n_points: int, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    cameras = np.concatenate(
        [
            rng.normal(size=(n_cameras, 3)) * 0.3,
            rng.normal(size=(n_cameras, 3)) * 0.3 - [0, 0, 5],
            rng.uniform(400, 600, size=(n_cameras, 1)),
            rng.normal(size=(n_cameras, 2)),
            rng.normal(size=(n_cameras, 2)) * 0.02,
        ],
        axis=1,
    )
    points = rng.normal(size=(n_points, 3)) * 0.7
    by, of = rng.integers(0, n_cameras, n), np.sort(rng.integers(0, n_points, n))
    return [cameras, points, project(cameras[by], points[of]) + rng.normal(size=(n, 2)), by, of]


def cases(size: str) -> Iterator[Case]:
    n_cameras, n_points, n = (3, 5, 20) if size == "tiny" else (100, 10_000, 100_000)
    given = problem(n_cameras, n_points, n)
    ours = value_and_grad(squared_error, argnums=(0, 1))
    ways = {"pullback": lambda: ours(*given), "NumPy": lambda: by_hand(*given)}
    if torch := peers.torch():
        tensors = [torch.tensor(v, requires_grad=k < 2) for k, v in enumerate(given)]

        def run():
            value = by_torch(torch, *tensors)
            return value, torch.autograd.grad(value, tensors[:2])

        ways["torch"] = run
    if jax := peers.jax():
        compiled = jax.value_and_grad(peers.with_numpy(squared_error, jax.numpy), (0, 1))
        ways["jax"] = peers.by_jax(compiled, *given)
    sizes = n_cameras, n_points, n
    if c_version := native.kernel("reprojection", *sizes, *given, out=[np.empty_like(v) for v in given[:2]]):
        ways["C"] = c_version
    name = f"squared reprojection error of {n:,} observations, f64"
    yield Case(name, ways, "ns/observation", 1e9 / n, (("C", 1.0), ("jax", 10.0)), agree=1e-8)
