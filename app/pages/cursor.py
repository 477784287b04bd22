"""One cursor for all charts: which token of which request, and when that was. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.pages.chart_data import Cache
from profiler.timeline import Request, Run
from profiler.units import NS_PER_S


@dataclass(frozen=True)
class Place:
    """A token (from 1) of a request (its `no`), and its time in seconds since the run began.

    `token` None: the request alone, or a time at which no token was being made.
    """

    request: int | None
    token: int | None
    t_s: float | None


def place_of_token(run: Run, cache: Cache, request: Request, token: int) -> Place:
    """Where a token is; without a time where it has not come (yet)."""
    stamps = cache.view(request).t_ns
    at = int(stamps[token - 1]) if 1 <= token <= len(stamps) else None
    return Place(request.no, token, None if at is None else (at - run.t_ns) / NS_PER_S)


def place_of_request(run: Run, cache: Cache, request: Request) -> Place:
    """The first token of a request."""
    if not len(cache.view(request)):
        return Place(request.no, None, (request.t0_ns - run.t_ns) / NS_PER_S)
    return place_of_token(run, cache, request, 1)


def place_at(run: Run, cache: Cache, t_s: float) -> Place:
    """What was going on at a time: the token that was being made then, and of which request.

    A token is being made from the stamp before it (t0 for the first) to its own.
    """
    t_ns = run.t_ns + round(t_s * NS_PER_S)
    # Requests that are decoded together overlap: the one that began last is meant.
    for request in reversed(run.requests):
        if request.t0_ns > t_ns:
            continue
        stamps = cache.view(request).t_ns
        if not len(stamps):
            over = request.end_ns is not None and request.end_ns < t_ns
            if over:
                continue
            return Place(request.no, None, t_s)
        if t_ns > stamps[-1]:
            continue
        return Place(request.no, int(np.searchsorted(stamps, t_ns)) + 1, t_s)
    return Place(None, None, t_s)


def stepped(place: Place | None, request: Request, cache: Cache, step: int) -> int | None:
    """The token `step` further on within a request, kept inside it; None for a request without any.

    From nowhere a step forward begins at the first token, one back at the last.
    """
    count = len(cache.view(request))
    if count == 0:
        return None
    if place is None or place.token is None:
        return 1 if step > 0 else count
    return min(max(place.token + step, 1), count)
