# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A certificate authority for the local cluster: keys, certificates and kubeconfigs as files."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import os
from pathlib import Path

try:
    import yaml
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    MISSING = ""
except ImportError as error:
    MISSING = "cryptography" if "cryptography" in str(error) else "PyYAML"

LIFETIME = datetime.timedelta(days=365)
RENEW_BEFORE = datetime.timedelta(days=30)
# A certificate that is valid from the current second has failed in practice, even on one host.
BACKDATE = datetime.timedelta(minutes=5)


class Authority:
    """Issues certificates and keys that are missing, expire within RENEW_BEFORE, or are requested with other names.

    changed: the names of those that were issued, or would be with issue=False, which writes nothing.
    """

    def __init__(self, folder: str, name: str) -> None:
        self.folder = Path(folder)
        self.name = name
        self.changed: list[str] = []

    def certificate(self, name: str, common_name: str, organizations: list[str], alternatives: list[str], issue: bool = True) -> None:
        """Issues `<name>.crt` and `<name>.key`, for client and server authentication, signed by `ca`."""
        if self._fresh(name, common_name, organizations, alternatives):
            return
        self._write_pair(name, self._subject(common_name, organizations), alternatives, issue)

    def authority(self, issue: bool = True) -> None:
        """Issues `ca.crt` and `ca.key`. With a new authority every certificate is issued again."""
        if not self._fresh("ca", self.name, [], []):
            self._write_pair("ca", self._subject(self.name, []), [], issue)

    def key(self, name: str, issue: bool = True) -> None:
        """Generates `<name>.key` alone, for signing tokens."""
        if not self._path(name, "key").is_file():
            self.changed.append(name)
            if issue:
                self._write(self._path(name, "key"), _private_bytes(ec.generate_private_key(ec.SECP256R1())))

    def kubeconfig(self, name: str, path: str, server: str, cluster: str, issue: bool = True) -> None:
        """Writes a kubeconfig with everything embedded, which authenticates with certificate `name`."""
        if not all(self._path(*each).is_file() for each in ((name, "crt"), (name, "key"), ("ca", "crt"))):
            self.changed.append(path)
            return
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": self._encoded("ca", "crt")}}],
            "users": [{"name": name, "user": {"client-certificate-data": self._encoded(name, "crt"), "client-key-data": self._encoded(name, "key")}}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": name}}],
            "current-context": cluster,
        }
        text = yaml.safe_dump(document, sort_keys=False).encode()
        target = Path(path)
        if not target.is_file() or target.read_bytes() != text:
            self.changed.append(path)
            if issue:
                self._write(target, text)

    def _fresh(self, name: str, common_name: str, organizations: list[str], alternatives: list[str]) -> bool:
        if not self._path(name, "key").is_file() or not self._path(name, "crt").is_file():
            return False
        certificate = x509.load_pem_x509_certificate(self._path(name, "crt").read_bytes())
        # An interrupted run may leave a new key with an old certificate.
        if certificate.public_key() != serialization.load_pem_private_key(self._path(name, "key").read_bytes(), None).public_key():
            return False
        if certificate.not_valid_after_utc - RENEW_BEFORE < datetime.datetime.now(datetime.UTC):
            return False
        if certificate.subject != self._subject(common_name, organizations) or _alternatives_of(certificate) != sorted(alternatives):
            return False
        return name == "ca" or ("ca" not in self.changed and self._signed_by_us(certificate))

    def _signed_by_us(self, certificate: x509.Certificate) -> bool:
        try:
            certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(self._path("ca", "crt").read_bytes()))
        except (ValueError, TypeError, OSError, InvalidSignature):
            return False
        return True

    def _write_pair(self, name: str, subject: x509.Name, alternatives: list[str], issue: bool) -> None:
        self.changed.append(name)
        if not issue:
            return
        key = ec.generate_private_key(ec.SECP256R1())
        is_authority = name == "ca"
        signer = key if is_authority else self._authority_key()
        identifiers = x509.SubjectKeyIdentifier.from_public_key(key.public_key()), x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject(self.name, []))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - BACKDATE)
            .not_valid_after(now + LIFETIME)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(_key_usage(is_authority), critical=True)
        )
        for identifier in identifiers:  # Python 3.13 and newer require them
            builder = builder.add_extension(identifier, critical=False)
        if not is_authority:
            builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(each) for each in alternatives]), critical=False)
        self._write(self._path(name, "key"), _private_bytes(key))
        self._write(self._path(name, "crt"), builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def _authority_key(self) -> ec.EllipticCurvePrivateKey:
        key = serialization.load_pem_private_key(self._path("ca", "key").read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{self._path('ca', 'key')} is no elliptic curve key; remove the folder {self.folder}")
        return key

    @staticmethod
    def _subject(common_name: str, organizations: list[str]) -> x509.Name:
        parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
        return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])

    def _path(self, name: str, suffix: str) -> Path:
        return self.folder / f"{name}.{suffix}"

    def _encoded(self, name: str, suffix: str) -> str:
        return base64.b64encode(self._path(name, suffix).read_bytes()).decode()

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name("." + path.name)
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(content)
        partial.replace(path)


def _key_usage(is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _alternatives_of(certificate: x509.Certificate) -> list[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return sorted(str(each.value) for each in extension.value)
