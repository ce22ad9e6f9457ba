"""Where a cluster may be: never behind a port that is open to a network."""

from __future__ import annotations

import pytest

from redolab.errors import InvalidInput
from redolab.machines.cluster.dask import check_worker_name, parse_cluster


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("tls://db-control:8786", "tls://db-control:8786"),
        ("tls://192.0.2.1", "tls://192.0.2.1:8786"),
        ("tls://[2001:db8::1]:9000", "tls://[2001:db8::1]:9000"),
        ("tls://127.0.0.1", "tls://127.0.0.1:8786"),
    ],
)
def test_tls_anywhere(text: str, meant: str) -> None:
    assert str(parse_cluster(text)) == meant


@pytest.mark.parametrize("host", ["db-control", "127.0.0.1"])
def test_an_open_port_is_refused(host: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_cluster(f"tcp://{host}:8786")
    assert refused.value.remedy.endswith(f" tls://{host}:8786")


@pytest.mark.parametrize(
    "text", ["", "db-control", "ssh:db", "http://db:8787", "tls://db:0", "tls://db:70000", "tls://:1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_cluster(text)


@pytest.mark.parametrize("name", ["", ".", "../up", "a b", "-x", "x" * 70])
def test_a_name_that_could_not_be_a_folder_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_worker_name(name)
    assert check_worker_name("db-1.example") == "db-1.example"
