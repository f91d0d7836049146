// An authorization server: oidc-provider, with people, what each of them may do, and pages to sign in and to consent.
// It says its port in a line.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** packages, issuer, client: {id, secret}, people, resources: {address: {format, scope}}, documents: {address: metadata} */
const spec = JSON.parse(process.env.SALLYPORT_ISSUER)
const { default: Provider, errors } = await import(pathToFileURL(createRequire(spec.packages).resolve('oidc-provider')))

const form = (request) => new Promise((resolve, reject) => {
  let text = ''
  request.on('data', (part) => { text += part }).on('end', () => resolve(new URLSearchParams(text))).on('error', reject)
})

const provider = new Provider(spec.issuer, {
  clients: [{ client_id: spec.client.id, client_secret: spec.client.secret, redirect_uris: [], response_types: [], grant_types: [] }],
  scopes: ['openid', 'offline_access', ...new Set(Object.values(spec.resources).flatMap(({ scope }) => scope.split(' ')))],
  pkce: { required: () => true },
  findAccount: (ctx, sub) => spec.people[sub] && { accountId: sub, claims: () => ({ sub }) },
  extraTokenClaims: (ctx, token) => ({ groups: spec.people[token.accountId]?.groups }),
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  loadExistingGrant: async (ctx) => {
    const consent = ctx.oidc.result?.consent
    const id = consent?.grantId ?? ctx.oidc.session.grantIdFor(ctx.oidc.client.clientId)
    const grant = id && await provider.Grant.find(id)
    if (grant && !consent) delete grant.rejected // a person may be asked again
    return grant
  },
  cookies: { keys: ['for a test'] },
  interactions: { url: (ctx, { uid }) => `/interaction/${uid}` },
  fetch: async (address) => {
    const document = spec.documents?.[String(address)]
    return document ? Response.json(document) : new Response('', { status: 404 })
  },
  // The token of a code has expired already, for a person who is late. An opaque one is gone.
  formats: {
    customizers: {
      jwt: (ctx, token, jwt) => {
        if (spec.people[token.accountId]?.late && ctx.oidc.params.grant_type === 'authorization_code') {
          Object.assign(jwt.payload, { iat: jwt.payload.iat - 7200, exp: jwt.payload.exp - 7200 })
        }
      },
    },
  },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    introspection: { enabled: true, allowedPolicy: (ctx, client) => client.clientId === spec.client.id },
    revocation: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, address) => {
        const found = spec.resources[address]
        if (!found) throw new errors.InvalidTarget()
        return { scope: found.scope, audience: address, accessTokenFormat: found.format, accessTokenTTL: 3600, jwt: { sign: { alg: 'RS256' } } }
      },
    },
  },
})

provider.use(async (ctx, next) => {
  await next()
  if (ctx.oidc?.route === 'token' && ctx.status === 200) {
    const { accountId } = ctx.oidc.entities.AccessToken ?? {}
    if (spec.people[accountId]?.late && ctx.oidc.params.grant_type === 'authorization_code') {
      await ctx.oidc.entities.AccessToken.destroy()
    }
  }
})

/** page is the form of a prompt. */
const page = (fields) => `<!doctype html><form method="post">${fields.map((f) => `<input name="${f}">`).join('')}<button>Continue</button></form>`

/** consents counts those of each person. */
const consents = {}

/** allowed makes a grant of those scopes that a person gives a client this time. */
async function allowed({ grantId, session: { accountId }, params, prompt }) {
  const grant = (grantId && await provider.Grant.find(grantId)) ?? new provider.Grant({ accountId, clientId: params.client_id })
  delete grant.rejected // what the person did not give before
  const { gives } = spec.people[accountId]
  consents[accountId] = (consents[accountId] ?? 0) + 1
  const now = gives[Math.min(consents[accountId], gives.length) - 1]
  grant.addOIDCScope((prompt.details.missingOIDCScope ?? []).join(' ')) // all: tokens for a resource have none of these
  for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    for (const scope of scopes) {
      if (now.includes(scope)) grant.addResourceScope(resource, scope)
      else grant.rejectResourceScope(resource, scope)
    }
  }
  return grant.save()
}

/** decide is a person's answer to a prompt, as the result of the interaction. */
async function decide(details, answer) {
  if (details.prompt.name === 'login') {
    const person = spec.people[answer.get('login')]
    if (person?.password !== answer.get('password')) return undefined
    return { login: { accountId: answer.get('login') } }
  }
  if (spec.people[details.session.accountId].refuses) return { error: 'access_denied', error_description: 'the person refused' }
  return { consent: { grantId: await allowed(details) } }
}

async function interaction(request, response) {
  const details = await provider.interactionDetails(request, response)
  if (request.method === 'GET') {
    response.setHeader('Content-Type', 'text/html')
    return response.end(page(details.prompt.name === 'login' ? ['login', 'password'] : []))
  }
  const result = await decide(details, await form(request))
  if (!result) return response.writeHead(403).end('wrong password')
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
}

const answer = provider.callback()
const server = createServer((request, response) => {
  if (!request.url.startsWith('/interaction/')) return answer(request, response)
  return interaction(request, response).catch((error) => response.writeHead(500).end(String(error)))
})
provider.on('server_error', (ctx, error) => console.error('issuer:', error))
for (const name of ['authorization.error', 'grant.error', 'registration_create.error', 'introspection.error']) {
  provider.on(name, (ctx, error) => console.error(`issuer: ${name}: ${error.message}: ${error.error_description ?? ''} ${error.error_detail ?? ''}`))
}
server.listen(0, '127.0.0.1', () => console.log('port', server.address().port))
