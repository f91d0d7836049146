package egress

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// rerouting are fields by which servers, frameworks and proxies replace the method, address or client of a request.
var rerouting = strings.Fields(`X-HTTP-Method-Override X-HTTP-Method X-Method-Override X-Method X-Override-Method X-Requested-Method X-Tunneled-Method X-RestLi-Method X-Original-Method
	X-HTTP-Verb X-HTTP-Verb-Override X-Verb XHttpMethod XMethodOverride X-HTTPMethod X-HTTP-MethodOverride HTTP-Method Method Request-Method X-Request-Method X-Forwarded-Method X-Real-Method
	X-HTTP-DestinationURL X-Waws-Unencoded-Url X-Original-URL X-Original-URI X-Rewrite-URL X-Rewrite-URI X-Override-URL X-URL X-URI X-Path X-Request-URI X-Request-URL Request-Uri Base-Url X-Proxy-Url
	X-Target-URL X-Destination-URL X-Real-URL X-Full-Path X-Original-Path X-Replaced-Path X-Matched-Path X-Invoke-Path X-Ingress-Path X-Envoy-Original-Path X-Forwarded-Path X-Path-Info Path-Info
	X-Script-Name Script-Name X-Url-Scheme X-Scheme X-Proto X-Absolute-URI X-Effective-URI X-Upstream-Path X-Reproxy-URL X-Accel-Redirect X-Middleware-Rewrite X-Middleware-Subrequest
	X-Now-Route-Matches X-Rewritten-Path X-Original-Query X-Original-Args X-Original-To X-Original Destination X-Destination
	X-Host X-HTTP-Host X-HTTP-Host-Override X-Original-Host X-Forwarded-Host X-Forwarded-Server X-Forward-Host X-Backend-Host X-Target-Host X-Real-Host X-Server-Name X-Authority X-Hostname X-Upstream X-Backend
	Forwarded Forwarded-For X-Forwarded X-Forwarded-For X-Forwarded-Proto X-Forwarded-Prefix X-Forwarded-Port X-Forwarded-Scheme X-Forwarded-Ssl X-Forwarded-Uri X-Forwarded-By X-Forward-For X-Forward-To
	X-Forwarded-Client-Cert X-Original-Forwarded-For
	X-Real-IP X-Client-IP X-Cluster-Client-IP X-ProxyUser-IP X-Remote-Addr X-Remote-IP X-Originating-IP X-Custom-IP-Authorization True-Client-IP CF-Connecting-IP CF-Connecting-IPv6 CF-Pseudo-IPv4
	Proxy X-Sendfile-Type X-Accel-Mapping Dtab-Local L5d-Dtab L5d-Dst-Override Disguised-Host WAS-Default-Hostname Fastly-Client-IP Fly-Client-IP Client-IP Real-IP X-Azure-ClientIP X-Azure-SocketIP X-NF-Client-Connection-IP X-RealIP X-RemoteAddr X-Envoy-External-Address Front-End-Https X-Wap-Profile`)

func TestReroutes_anySpellingOfForwardingHeaders(t *testing.T) {
	r := rand.New(rand.NewPCG(20261122, 1))
	for _, name := range rerouting {
		for _, spelling := range []string{name, strings.ToUpper(name), strings.ToLower(name), strings.ReplaceAll(name, "-", "_"), strings.ReplaceAll(name, "-", "."), strings.Replace(name, "-", "!", 1), mixedCase(r, name)} {
			if !reroutes(spelling) {
				t.Errorf("%s: got it passed, want a refusal", spelling)
			}
		}
	}
}

// mixedCase returns a name in random case, since field names ignore case.
func mixedCase(r *rand.Rand, name string) string {
	return strings.Map(func(c rune) rune {
		if r.IntN(2) == 0 {
			return []rune(strings.ToUpper(string(c)))[0]
		}
		return []rune(strings.ToLower(string(c)))[0]
	}, name)
}

// Fields of clients of public services are not affected.
func TestReroutes_honest(t *testing.T) {
	honest := strings.Fields(`Accept Accept-Charset Accept-Encoding Accept-Language Accept-Profile Accept-Datetime Authorization Cache-Control Content-Disposition Content-Encoding Content-Language Content-Location
		Content-MD5 Content-Profile Content-Range Content-Type Cookie Date DNT DPoP Depth ETag From If If-Match If-Modified-Since If-None-Match If-Range If-Unmodified-Since Last-Event-ID Link Lock-Token Max-Forwards
		Origin Overwrite Pragma Prefer Priority Range Range-Unit Referer HTTP-Referer SOAPAction Sec-Fetch-Mode Signature Signature-Input Slug Timeout User-Agent Want-Digest Digest Upgrade-Insecure-Requests
		Access-Control-Request-Method Access-Control-Request-Headers Save-Data Service-Worker Idempotency-Key X-Idempotency-Key Sec-CH-UA Alt-Used Early-Data
		X-Requested-With X-CSRF-Token X-XSRF-Token X-Api-Key X-Api-Version Api-Version X-Auth-Token X-Auth-Key X-Auth-Email X-Access-Token X-Client-Id X-Client-Version X-Client-Info X-Request-Id X-Correlation-Id
		X-GitHub-Api-Version X-GitHub-OTP X-GitHub-Media-Type PRIVATE-TOKEN JOB-TOKEN DEPLOY-TOKEN Sudo X-Gitea-OTP X-Gitlab-Event Circle-Token Travis-API-Version
		X-Original-Content-Type X-Original-Content-Length X-Original-Filename X-Original-File-Name X-Original-Message-Id X-Original-Timestamp
		X-Goog-Api-Key X-Goog-User-Project X-Goog-Api-Client X-Goog-FieldMask X-Goog-Upload-Command X-Goog-Upload-Offset X-Goog-Upload-Protocol X-Goog-Upload-Header-Content-Type X-Goog-Copy-Source
		X-Goog-If-Generation-Match X-Goog-Request-Params X-Goog-AuthUser X-Goog-Visitor-Id X-Upload-Content-Type X-Upload-Content-Length GData-Version developer-token login-customer-id
		X-Amz-Date X-Amz-Target X-Amz-Security-Token X-Amz-Content-Sha256 X-Amz-Copy-Source X-Amz-Copy-Source-Range X-Amz-Acl X-Amz-Meta-Name X-Amz-Website-Redirect-Location X-Amz-Server-Side-Encryption
		X-Amz-Invocation-Type X-Amz-Client-Context X-Amz-Storage-Class X-Amz-User-Agent X-Amzn-Trace-Id amz-sdk-request amz-sdk-invocation-id X-Amz-Bypass-Governance-Retention
		X-Ms-Version X-Ms-Date X-Ms-Blob-Type X-Ms-Copy-Source X-Ms-Rename-Source X-Ms-Client-Request-Id X-Ms-Range X-Ms-Lease-Id X-Ms-Return-Client-Request-Id Ocp-Apim-Subscription-Key Ocp-Apim-Trace
		ConsistencyLevel MWHRequest-Id X-RequestDigest X-AnchorMailbox X-VSS-ForceMsaPassThrough OData-Version OData-MaxVersion
		Stripe-Version Stripe-Account Stripe-Signature Square-Version Notion-Version OpenAI-Organization OpenAI-Project OpenAI-Beta anthropic-version anthropic-beta X-Stainless-Lang X-Title
		Dropbox-API-Arg Dropbox-API-Path-Root Dropbox-API-Select-User X-Shopify-Access-Token X-Shopify-Storefront-Access-Token X-Figma-Token X-Sentry-Auth DD-API-KEY DD-APPLICATION-KEY X-Honeycomb-Team
		X-Vault-Token X-Vault-Namespace X-Vault-Wrap-TTL X-Vault-Request X-Consul-Token X-Nomad-Token X-Registry-Auth X-Registry-Config Docker-Distribution-Api-Version kbn-xsrf
		Client-Id X-RapidAPI-Key X-RapidAPI-Host LinkedIn-Version X-RestLi-Protocol-Version X-Atlassian-Token X-ExperimentalApi X-Redmine-API-Key X-MBX-APIKEY CB-ACCESS-KEY CB-ACCESS-SIGN
		OK-ACCESS-PASSPHRASE Sforce-Call-Options Sforce-Query-Options Sforce-Auto-Assign X-PrettyPrint X-SFDC-Session PayPal-Request-Id PayPal-Partner-Attribution-Id Paypal-Auth-Algo X-PAYPAL-SECURITY-CONTEXT
		Xero-Tenant-Id X-Tenant-Id X-Org-Id X-Workspace-Id X-Zuora-WSDL-Version X-Slack-Request-Timestamp X-Slack-Signature X-Twilio-Signature X-Hub-Signature-256 X-Callback-URL X-Webhook-URL X-CallbackURL
		Tus-Resumable Upload-Offset Upload-Length Upload-Metadata Upload-Concat X-File-Name X-File-Path X-Archive-Meta-Title X-Archive-Queue-Derive apikey Api-Key Token Ngrok-Skip-Browser-Warning Bypass-Tunnel-Reminder
		X-FAPI-Customer-IP-Address X-FAPI-Interaction-Id X-FAPI-Auth-Date PSU-IP-Address PSU-Http-Method PSU-User-Agent TPP-Redirect-URI TPP-Nok-Redirect-URI TPP-Notification-URI X-JWS-Signature Consent-ID
		X-B3-TraceId X-B3-SpanId X-Cloud-Trace-Context X-Datadog-Trace-Id X-Datadog-Sampling-Priority Sentry-Trace B3 X-OTel-Name X-Plex-Token X-Emby-Token X-Emby-Authorization X-Jenkins-Crumb Jenkins-Crumb
		X-Ghost-Version X-Youtube-Client-Name X-Youtube-Client-Version X-Apple-Store-Front X-Spotify-Client X-Discord-Locale X-Audit-Log-Reason X-RateLimit-Precision X-Twitter-Auth-Type X-WP-Nonce X-Drupal-Cache
		Mcp-Session-Id Mcp-Protocol-Version Mcp-Method Mcp-Name Mcp-Param-Owner X-Timezone Time-Zone X-Locale X-Device-Id X-Platform X-App-Version X-Forgejo-OTP X-Payment-Method X-Auth-Method X-Signature-Method X-Curl-Version`)
	for _, name := range honest {
		if reroutes(name) || isHostField(name) {
			t.Errorf("%s: got a refusal, want it passed", name)
		}
	}
	if len(honest) < 200 || len(slices.Compact(slices.Sorted(slices.Values(honest)))) != len(honest) {
		t.Errorf("got %d names, want 200 or more without repetition", len(honest))
	}
}
