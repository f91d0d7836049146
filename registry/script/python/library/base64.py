import binascii


def b64encode(s, altchars=None):
    out = binascii.b2a_base64(s, newline=False)
    return out if altchars is None else out.replace(b"+", altchars[:1]).replace(b"/", altchars[1:2])


def b64decode(s, altchars=None, validate=False):
    s = s.encode() if isinstance(s, str) else bytes(s)
    if altchars is not None:
        s = s.replace(altchars[:1], b"+").replace(altchars[1:2], b"/")
    return binascii.a2b_base64(s)


standard_b64encode, standard_b64decode = b64encode, b64decode


def urlsafe_b64encode(s):
    return b64encode(s, b"-_")


def urlsafe_b64decode(s):
    return b64decode(s, b"-_")


def b16encode(s):
    return binascii.hexlify(s).upper()


def b16decode(s, casefold=False):
    return binascii.unhexlify(s)
