// Package charttest tests the Helm chart and the manifests. It is a module of its own, so that the program
// does not depend on the libraries of Helm and Kubernetes.
package charttest

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the manifests of the chart's defaults")

const folder = "../../chart/sallyport"

// values are what an operator sets, in YAML.
type values string

// render renders the chart as helm install does.
func render(v values) (map[string]string, error) {
	c, err := loader.LoadDir(folder)
	if err != nil {
		return nil, err
	}
	set, err := chartutil.ReadValues([]byte(v))
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "sallyport", Namespace: "default", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, set, release, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// objects are the rendered objects, each of its kind's type.
type objects struct {
	text        string
	deployment  apps.Deployment
	config      core.ConfigMap
	service     core.Service
	disruption  policy.PodDisruptionBudget
	autoscaler  *autoscaling.HorizontalPodAutoscaler
	network     networking.NetworkPolicy
	description map[string]any // the configuration of the program
}

// rendered renders the chart and decodes each object strictly by the types of the Kubernetes API: a field that its kind
// does not have, is there twice or has another type, is an error.
func rendered(t *testing.T, v values) objects {
	t.Helper()
	files, err := render(v)
	if err != nil {
		t.Fatal(err)
	}
	var o objects
	var all []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := strings.TrimSpace(files[name])
		if filepath.Ext(name) != ".yaml" || text == "" {
			continue
		}
		all = append(all, text)
		if err := yaml.UnmarshalStrict([]byte(text), o.of(t, name, text)); err != nil {
			t.Errorf("%s: got %v, want an object of the API", name, err)
		}
	}
	o.text = strings.Join(all, "\n---\n") + "\n"
	if err := yaml.UnmarshalStrict([]byte(o.config.Data["sallyport.yaml"]), &o.description); err != nil {
		t.Errorf("sallyport.yaml: %v", err)
	}
	return o
}

// of returns the place of an object by its kind and version.
func (o *objects) of(t *testing.T, name, text string) any {
	t.Helper()
	var about struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(text), &about); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	switch about.APIVersion + " " + about.Kind {
	case "apps/v1 Deployment":
		return &o.deployment
	case "v1 ConfigMap":
		return &o.config
	case "v1 Service":
		return &o.service
	case "policy/v1 PodDisruptionBudget":
		return &o.disruption
	case "networking.k8s.io/v1 NetworkPolicy":
		return &o.network
	case "autoscaling/v2 HorizontalPodAutoscaler":
		o.autoscaler = &autoscaling.HorizontalPodAutoscaler{}
		return o.autoscaler
	}
	t.Fatalf("%s: got %q %q, want a known kind", name, about.APIVersion, about.Kind)
	return nil
}

func TestChart_lintsWithoutWarnings(t *testing.T) {
	for _, v := range []string{"{}", "{proxies: [10.0.0.0/8], tls: {secret: ''}}", "{autoscaling: {enabled: true}}"} {
		set, err := chartutil.ReadValues([]byte(v))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.AllWithKubeVersion(folder, set, "default", nil).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", v, m)
			}
		}
	}
}

// The manifests are the chart with its defaults.
func TestManifests_areTheChartsDefaults(t *testing.T) {
	const file = "../../manifests/sallyport.yaml"
	want := "# helm template sallyport chart/sallyport, with its defaults: go test . -update\n" + rendered(t, "").text
	want = strings.ReplaceAll(want, "app.kubernetes.io/managed-by: \"Helm\"", "app.kubernetes.io/managed-by: \"kubectl\"")
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, []byte(want)) {
		t.Errorf("%s: got %v and other text than the chart's, want go test . -update", file, err)
	}
}

// A pod has no right that it does not need.
func TestChart_hardensThePod(t *testing.T) {
	for _, v := range []values{"", "autoscaling: {enabled: true}", "{replicas: 1, keys: {secret: ''}, state: {claim: state}, tls: {secret: ''}, proxies: [10.0.0.1]}"} {
		pod := rendered(t, v).deployment.Spec.Template.Spec
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: the pod has a token of a service account", v)
		}
		if s := pod.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: got security context %+v, want a user that is not root and the runtime's seccomp profile", v, s)
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.InitContainers) > 0 || len(pod.Containers) != 1 {
			t.Errorf("%s: got host namespaces or other containers, want neither", v)
		}
		c := pod.Containers[0]
		s := c.SecurityContext
		if s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || s.Privileged != nil || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || s.Capabilities.Add != nil {
			t.Errorf("%s: got security context %+v, want a read-only root and no capability", v, s)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: got resources %+v, want a limit of memory and a request of processors", v, c.Resources)
		}
		for _, m := range c.VolumeMounts {
			if writable := m.Name == "state" || m.Name == "tmp"; m.ReadOnly == writable {
				t.Errorf("%s: %s: got read-only %v, want %v", v, m.Name, m.ReadOnly, !writable)
			}
			if !slices.ContainsFunc(pod.Volumes, func(x core.Volume) bool { return x.Name == m.Name && x.HostPath == nil }) {
				t.Errorf("%s: the mount %s has no volume, or one of the node", v, m.Name)
			}
		}
	}
}

// The selectors of service, budget and policy find the pods, the probes a port, and the autoscaler its deployment.
func TestChart_connectsItsObjects(t *testing.T) {
	o := rendered(t, "autoscaling: {enabled: true, min: 3, max: 30, target: '7'}")
	labels := o.deployment.Spec.Template.Labels
	for name, selector := range map[string]map[string]string{
		"deployment": o.deployment.Spec.Selector.MatchLabels, "service": o.service.Spec.Selector,
		"budget": o.disruption.Spec.Selector.MatchLabels, "policy": o.network.Spec.PodSelector.MatchLabels,
	} {
		if len(selector) == 0 {
			t.Errorf("%s: no selector", name)
		}
		for key, value := range selector {
			if labels[key] != value {
				t.Errorf("%s: got %s=%s, want the pods' %s", name, key, value, labels[key])
			}
		}
	}
	c := o.deployment.Spec.Template.Spec.Containers[0]
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for _, probe := range []*core.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if got := ports[probe.HTTPGet.Port.StrVal]; got != 9470 {
			t.Errorf("probe %s: got port %d, want the operator's 9470", probe.HTTPGet.Path, got)
		}
	}
	if c.ReadinessProbe.HTTPGet.Path != "/ready" || len(o.service.Spec.Ports) != 1 || ports[o.service.Spec.Ports[0].TargetPort.StrVal] != 8470 {
		t.Errorf("got readiness %+v and service %+v, want /ready and port 8470 alone", c.ReadinessProbe.HTTPGet, o.service.Spec.Ports)
	}
	a := o.autoscaler
	if a.Spec.ScaleTargetRef.Name != o.deployment.Name || *a.Spec.MinReplicas != 3 || a.Spec.MaxReplicas != 30 || o.deployment.Spec.Replicas != nil {
		t.Errorf("got %+v and replicas %v, want 3 to 30 of the deployment, which has none of its own", a.Spec, o.deployment.Spec.Replicas)
	}
	if m := a.Spec.Metrics[0].Pods; m.Metric.Name != "sallyport_queue_length" || m.Target.AverageValue.String() != "7" {
		t.Errorf("got %+v, want the queue's metric with 7", m)
	}
}

// The configuration has the keys of the pod's own files over the operator's, and a pod is killed after its drain.
func TestChart_writesTheConfiguration(t *testing.T) {
	o := rendered(t, "{config: {http: {addr: '127.0.0.1:1', rate: 9}, limits: {deadline: 20s}}, proxies: [10.0.0.0/8], clients: ['2001:db8::/32']}")
	http := o.description["http"].(map[string]any)
	for key, want := range map[string]any{"addr": "0.0.0.0:8470", "rate": float64(9), "linger": "10s", "drain": "60s", "tls_cert": "/secrets/tls/tls.crt"} {
		if http[key] != want {
			t.Errorf("http.%s: got %v, want %v", key, http[key], want)
		}
	}
	if got := o.description["limits"].(map[string]any)["deadline"]; got != "20s" {
		t.Errorf("limits.deadline: got %v, want 20s", got)
	}
	if got := *o.deployment.Spec.Template.Spec.TerminationGracePeriodSeconds; got < 10+60+5 {
		t.Errorf("got killed after %d s, want 75 or more", got)
	}
	if other := rendered(t, "config: {limits: {deadline: 21s}}"); other.deployment.Spec.Template.Annotations["checksum/config"] == o.deployment.Spec.Template.Annotations["checksum/config"] {
		t.Error("another configuration has the same checksum, want the pods replaced")
	}
	plain := rendered(t, "{tls: {secret: ''}, proxies: [10.0.0.0/8]}").description["http"].(map[string]any)
	if plain["behind_proxy"] != true || plain["tls_cert"] != nil {
		t.Errorf("got %v, want TLS at the proxy", plain)
	}
}

// Values that could not be served are refused before anything is installed.
func TestChart_refusesBadValues(t *testing.T) {
	for v, want := range map[values]string{
		"{keys: {secret: ''}}": "two replicas and more need keys.secret",
		"{replicas: 1, keys: {secret: ''}, autoscaling: {enabled: true}}": "two replicas and more need keys.secret",
		"{state: {claim: c}}":                 "state.claim is for one replica",
		"{tls: {secret: ''}}":                 "neither tls.secret nor proxies",
		"{tokens: {secret: ''}}":              "tokens.secret is missing",
		"{replicas: 0}":                       "replicas",
		"{replica: 3}":                        "replica",
		"{proxies: [proxy.example.com]}":      "proxies",
		"{proxies: ['10.0.0.0/8\"\\n x: y']}": "proxies",
		"{stop: {drain: soon}}":               "drain",
		"{image: {digest: 'sha256:1'}}":       "digest",
		"{service: {port: 70000}}":            "port",
	} {
		if _, err := render(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in an error", v, err, want)
		}
	}
}

// Text of the operator stays text: it adds no field to an object.
func TestChart_quotesHostileText(t *testing.T) {
	const evil = `x"\n      hostNetwork: true\n#`
	o := rendered(t, values(`{tokens: {secret: "`+strings.ReplaceAll(evil, `"`, `\"`)+`"}, image: {repository: "a\"\nb: c"}, config: {plugins: {p: {grants: ["fs: read /a\nadmin: {listen: x}"]}}}}`))
	if o.deployment.Spec.Template.Spec.HostNetwork || o.description["admin"].(map[string]any)["listen"] != "0.0.0.0:9470" {
		t.Error("text of a value became a field")
	}
}
