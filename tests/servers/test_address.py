from __future__ import annotations

from pathlib import Path

import msgspec
import pymysql
import pytest

from redolab.errors import InvalidInput, LabError
from redolab.servers.address import PASSWORD, Address

SECRET = "correct horse"


def option_file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "my.cnf"
    path.write_text(text)
    return str(path)


def test_a_password_comes_from_the_prompt_the_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD, SECRET)
    without = option_file(tmp_path, "[client]\nuser = me\nloose_thing\n")
    assert Address(without).with_password(None).password == SECRET
    assert Address(without).with_password("asked").password == "asked"
    with_one = option_file(tmp_path, f"[client]\npassword = '{SECRET}'\n")
    assert Address(with_one).with_password(None).password is None


def test_no_text_of_an_address_has_its_password() -> None:
    address = Address(host="db1", port=3307, password=SECRET)
    assert SECRET not in f"{address} {address!r}"
    assert str(address) == "db1:3307"


def test_a_noted_address_holds_in_every_folder_and_has_no_password() -> None:
    address = Address("my.cnf", "run/mysqld.sock", port=3307, user="me", password=SECRET)
    noted = msgspec.json.encode(address.noted())
    assert msgspec.json.decode(noted, type=Address) == Address(
        str(Path("my.cnf").absolute()), str(Path("run/mysqld.sock").absolute()), port=3307, user="me"
    )


@pytest.mark.parametrize("address", [Address(), Address(socket="/s", host="h"), Address("/nowhere/my.cnf")])
def test_an_address_that_names_no_one_server_is_refused(address: Address) -> None:
    with pytest.raises(InvalidInput):
        address.check()


def test_a_file_that_is_no_option_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        Address(option_file(tmp_path, "not an option file\n")).check()


def test_a_password_that_cannot_be_encrypted_is_an_error_of_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer as PyMySQL does without `cryptography`, and without TLS."""

    def refused(**_: object) -> None:
        raise RuntimeError("'cryptography' package is required")

    monkeypatch.setattr(pymysql, "connect", refused)
    with pytest.raises(LabError):
        Address(host="db1").connect()
