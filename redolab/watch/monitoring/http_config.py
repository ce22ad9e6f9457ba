"""Access to a Prometheus: user, token and TLS from promtool's `--http.config.file` or the environment."""

from __future__ import annotations

import base64
import os
import ssl
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput

TOKEN, USER, PASSWORD = "PROMETHEUS_TOKEN", "PROMETHEUS_USER", "PROMETHEUS_PASSWORD"
"""Environment variables, read where no file is given."""


class BasicAuth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """User and password."""

    username: str
    password: str | None = None
    password_file: str | None = None


class Authorization(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token, or another type of credentials."""

    type: str = "Bearer"
    credentials: str | None = None
    credentials_file: str | None = None


class TlsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Trusted certificates, and the client's own certificate."""

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    insecure_skip_verify: bool = False


class HttpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of Prometheus' HTTP client configuration that are known here; any other is refused."""

    basic_auth: BasicAuth | None = None
    authorization: Authorization | None = None
    tls_config: TlsConfig = TlsConfig()

    def headers(self) -> dict[str, str]:
        """Return the header with the credentials. Raise `InvalidInput` if a file with a secret cannot be read."""
        if self.authorization is not None:
            secret = _secret(self.authorization.credentials, self.authorization.credentials_file)
            return {"Authorization": f"{self.authorization.type} {secret}"}
        if self.basic_auth is not None:
            password = _secret(self.basic_auth.password, self.basic_auth.password_file)
            both = f"{self.basic_auth.username}:{password}".encode()
            return {"Authorization": f"Basic {base64.b64encode(both).decode()}"}
        return {}

    def tls(self) -> ssl.SSLContext:
        """Return the context of TLS connections. Raise `InvalidInput` if a certificate or key cannot be read."""
        given = self.tls_config
        try:
            context = ssl.create_default_context(cafile=given.ca_file)
            if given.cert_file is not None:
                context.load_cert_chain(given.cert_file, given.key_file)
        except (OSError, ssl.SSLError) as error:
            raise InvalidInput(f"a certificate or key of tls_config cannot be read ({error})") from None
        if given.insecure_skip_verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


def read_http_config(path: Path | None) -> HttpConfig:
    """Return the configuration in a file or, without one, the environment. Raise `InvalidInput` if it is unusable."""
    if path is None:
        return _of_environment()
    try:
        config = msgspec.yaml.decode(path.read_bytes(), type=HttpConfig)
    except (OSError, msgspec.MsgspecError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(
            f"{path} cannot be used ({reason})", "basic_auth, authorization and tls_config are known"
        ) from None
    if config.basic_auth is not None and config.authorization is not None:
        raise InvalidInput(f"{path} has both basic_auth and authorization", "leave one out")
    return config


def _of_environment() -> HttpConfig:
    token, user = os.environ.get(TOKEN), os.environ.get(USER)
    if token:
        return HttpConfig(authorization=Authorization(credentials=token))
    return HttpConfig(basic_auth=BasicAuth(user, os.environ.get(PASSWORD, "")) if user else None)


def _secret(secret: str | None, file: str | None) -> str:
    if file is None:
        return secret or ""
    try:
        return Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the secret in {file} cannot be read ({error})") from None
