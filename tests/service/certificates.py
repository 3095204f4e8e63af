"""Certificate authorities and what they sign, made for a test and written as PEM files.

    authority = Authority(directory)
    server = authority.issue("server", dns=["localhost"], addresses=["127.0.0.1"])
    agent = authority.issue("agent", usage="client", uri="spiffe://test/agent")
"""
import collections
import datetime
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Pair = collections.namedtuple("Pair", "certificate key")  # paths

USAGES = {"server": ExtendedKeyUsageOID.SERVER_AUTH, "client": ExtendedKeyUsageOID.CLIENT_AUTH}


def write(path, *parts):
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)
    return path


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())


def build(subject, issuer, key, days):
    now = datetime.datetime.utcnow()
    return (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now + datetime.timedelta(days=days[0]))
            .not_valid_after(now + datetime.timedelta(days=days[1])))


def name_of(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    """`path` is its certificate."""

    def __init__(self, directory, name="authority"):
        self.directory = directory
        self.name = name_of(name)
        self.key = ec.generate_private_key(ec.SECP256R1())
        builder = build(self.name, self.name, self.key, (-30, 30)).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.path = write(os.path.join(directory, f"{name}.pem"),
                          pem(builder.sign(self.key, hashes.SHA256())))

    def issue(self, name, usage="server", dns=(), addresses=(), uri=None, days=(-1, 20)):
        """A Pair of files that are named after `name`; those that are there are replaced."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [*map(x509.DNSName, dns),
                 *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
                 *([x509.UniformResourceIdentifier(uri)] if uri else [])]
        builder = build(name_of(name), self.name, key, days).add_extension(
            x509.ExtendedKeyUsage([USAGES[usage]]), critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        path = os.path.join(self.directory, name)
        return Pair(write(f"{path}.pem", pem(builder.sign(self.key, hashes.SHA256()))),
                    write(f"{path}.key", key_pem(key)))

    def issue_server(self, name="server", **options):
        """For the loopback."""
        return self.issue(name, dns=["localhost"], addresses=["127.0.0.1"], **options)
