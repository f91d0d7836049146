import _hashlib
import binascii


class _Hash:
    name = "sha256"
    digest_size = 32
    block_size = 64

    def __init__(self, data=b""):
        self._parts = [bytes(data)]

    def update(self, data):
        self._parts.append(bytes(data))

    def digest(self):
        h = _hashlib.sha256()
        for part in self._parts:
            h.update(part)
        return h.digest()

    def hexdigest(self):
        return binascii.hexlify(self.digest()).decode()

    def copy(self):
        return _Hash(b"".join(self._parts))


def sha256(data=b"", *, usedforsecurity=True):
    return _Hash(data)


algorithms_available = algorithms_guaranteed = {"sha256"}


def new(name, data=b"", **kw):
    if name.lower() not in ("sha256", "sha-256"):
        raise ValueError("unsupported hash type " + name)
    return _Hash(data)
