import base64, html, json, sys, urllib.parse
for line in sys.stdin:
    v = bytes.fromhex(line.strip()); s = v.decode()
    q, p = urllib.parse.quote, urllib.parse.quote_plus
    b = base64.b64encode(v).decode()
    out = {
        "json": json.dumps(s)[1:-1], "json utf8": json.dumps(s, ensure_ascii=False)[1:-1], "json twice": json.dumps(json.dumps(s))[3:-3],
        "repr": repr(s)[1:-1], "bytes repr": repr(v)[2:-1], "ascii": ascii(s)[1:-1], "unicode_escape": s.encode("unicode_escape").decode(),
        "quote": q(s), "quote all": q(s, safe=""), "quote_plus": p(s), "quote twice": q(q(s, safe=""), safe=""), "quote loose": q(s, safe="/!'()*~:@,;$"),
        "html": html.escape(s), "html json": html.escape(json.dumps(s)[1:-1]), "xmlcharref": s.encode("ascii", "xmlcharrefreplace").decode(),
        "json html": json.dumps(html.escape(s))[1:-1], "quote json": q(json.dumps(s)[1:-1], safe=""), "json quote": json.dumps(q(s))[1:-1],
        "hex": v.hex(), "HEX": v.hex().upper(), "hex :": v.hex(":"), "hex blank": v.hex(" "),
        "b64": b, "b64 url": base64.urlsafe_b64encode(v).decode(), "b64 mime": base64.encodebytes(v).decode(), "b64 quote": q(b, safe=""), "b64 json": json.dumps(base64.encodebytes(v).decode())[1:-1],
    }
    for name, text in out.items():
        print(json.dumps([line.strip(), name, text]))
