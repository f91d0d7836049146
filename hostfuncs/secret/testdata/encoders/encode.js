const lines = require('fs').readFileSync(0, 'utf8').split('\n').filter(Boolean)
const inner = s => s.slice(1, -1)
for (const line of lines) {
  const v = Buffer.from(line, 'hex'), s = v.toString()
  const out = {
    json: inner(JSON.stringify(s)), 'json twice': JSON.stringify(JSON.stringify(s)).slice(3, -3),
    'json slashes': inner(JSON.stringify(s)).replaceAll('/', '\\/'), 'json script': inner(JSON.stringify(s)).replace(/[<>&\u2028]/g, c => '\\u' + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')),
    'all units': [...Array(s.length).keys()].map(i => '\\u' + s.charCodeAt(i).toString(16).padStart(4, '0')).join(''),
    'all points': [...s].map(c => '\\u{' + c.codePointAt(0).toString(16) + '}').join(''),
    component: encodeURIComponent(s), uri: encodeURI(s), escape: escape(s), form: new URLSearchParams({ k: s }).toString().slice(2),
    'component twice': encodeURIComponent(encodeURIComponent(s)), 'component json': encodeURIComponent(inner(JSON.stringify(s))), 'form json': new URLSearchParams({ k: inner(JSON.stringify(s)) }).toString().slice(2),
    query: require('querystring').escape(s), inspect: inner(require('util').inspect(s)),
    'html dec': [...s].map(c => '&#' + c.codePointAt(0) + ';').join(''), 'html hex': [...s].map(c => '&#x' + c.codePointAt(0).toString(16).padStart(5, '0') + ';').join(''),
    hex: v.toString('hex'), b64: v.toString('base64'), 'b64 url': v.toString('base64url'), 'b64 component': encodeURIComponent(v.toString('base64')), btoa: btoa(v.toString('latin1')),
  }
  for (const [name, text] of Object.entries(out)) console.log(JSON.stringify([line, name, text]))
}
