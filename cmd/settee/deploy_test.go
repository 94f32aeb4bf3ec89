package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// What is checked here of the files that deploy a cluster is what can be wrong without a container
// engine or Kubernetes: their form, names that have to agree, options and paths that the program
// has to know.

// object is a YAML mapping.
type object = map[string]any

// at goes down a path of members and indexes; nil if it is not there.
func at(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			o, _ := v.(object)
			v = o[s]
		case int:
			list, _ := v.([]any)
			if s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

// readYAML reads the documents of a text.
func readYAML(t *testing.T, name, text string) (documents []object) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return documents
		}
		require.NoError(t, err, "%s:\n%s", name, text)
		if o != nil {
			documents = append(documents, o)
		}
	}
}

// knownOptions fails the test for an option that `serve` does not have.
func knownOptions(t *testing.T, args []any) {
	t.Helper()
	flags := serveCommand().Flags()
	for _, arg := range args {
		if name, value, ok := strings.Cut(arg.(string), "="); ok || strings.HasPrefix(name, "--") {
			if name != "--engine" { // fdb is in another build
				require.NoError(t, flags.Set(strings.TrimPrefix(name, "--"), value))
			}
		}
	}
}

// TestComposeCluster: the services of the compose file name each other right, and the balancer
// names them.
func TestComposeCluster(t *testing.T) {
	text, err := os.ReadFile("../../docker/compose-cluster.yaml")
	require.NoError(t, err)
	file := readYAML(t, "compose-cluster.yaml", string(text))[0]
	services := file["services"].(object)
	var engines, nodes []string
	coordinators := regexp.MustCompile(`^\w+:\w+@((?:\w+:4500,?)+)$`)
	for name, service := range services {
		for _, needed := range []string{"depends_on", "volumes"} {
			switch list := at(service, needed).(type) {
			case object:
				for other := range list {
					require.Contains(t, services, other)
				}
			case []any:
				for _, item := range list {
					volume, path, mounted := strings.Cut(item.(string), ":")
					switch {
					case needed == "depends_on":
						require.Contains(t, services, item)
					case strings.HasPrefix(volume, "./"):
						require.FileExists(t, filepath.Join("../../docker", volume))
					default:
						require.True(t, mounted && strings.HasPrefix(path, "/"), item)
						require.Contains(t, file["volumes"], volume)
					}
				}
			}
		}
		environment, _ := at(service, "environment").(object)
		contents, _ := environment["FDB_CLUSTER_FILE_CONTENTS"].(string)
		if contents != "" {
			found := coordinators.FindStringSubmatch(contents)
			require.NotNil(t, found, contents)
			for _, coordinator := range strings.Split(found[1], ",") {
				host, _, _ := strings.Cut(coordinator, ":")
				require.Contains(t, services, host)
			}
		}
		switch {
		case environment["FDB_PORT"] != nil:
			engines = append(engines, name)
		case environment["NODENAME"] != nil:
			require.Equal(t, name, environment["NODENAME"], "the name that the others reach it at")
			nodes = append(nodes, name)
			knownOptions(t, at(service, "command").([]any))
		}
	}
	require.Len(t, engines, 3)
	require.Len(t, nodes, 2)
	slices.Sort(nodes)
	balancer, err := os.ReadFile("../../docker/haproxy.cfg")
	require.NoError(t, err)
	var behind []string
	server := regexp.MustCompile(`(?m)^\s+server (\w+) (\w+):5984$`)
	for _, m := range server.FindAllStringSubmatch(string(balancer), -1) {
		require.Equal(t, m[1], m[2])
		behind = append(behind, m[1])
	}
	slices.Sort(behind)
	require.Equal(t, nodes, behind)
	asked := regexp.MustCompile(`httpchk GET (\S+)`).FindSubmatch(balancer)
	require.NotNil(t, asked)
	require.Equal(t, http.StatusOK, answered(t, string(asked[1])))
}

// answered is what a server answers to somebody without credentials.
func answered(t *testing.T, path string) int {
	t.Helper()
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	o := serveOptions{appOptions: appOptions{engine: "memory", dataDir: t.TempDir()}, listen: freeAddress(t)}
	end, err := tryServe(t, o, io.Discard)
	require.NoError(t, err)
	defer func() { require.NoError(t, end()) }()
	w, err := http.Get("http://" + o.listen + path)
	require.NoError(t, err)
	defer w.Body.Close()
	return w.StatusCode
}

// chartFunctions are those of Helm that the chart uses.
func chartFunctions(templates *template.Template) template.FuncMap {
	toYAML := func(v any) (string, error) {
		text, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	return template.FuncMap{
		"toYaml": toYAML,
		"quote":  func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"b64enc": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"trunc":  func(n int, s string) string { return s[:min(n, len(s))] },
		"trimSuffix": func(suffix, s string) string {
			return strings.TrimSuffix(s, suffix)
		},
		"nindent": func(n int, s string) string {
			pad := "\n" + strings.Repeat(" ", n)
			return pad + strings.ReplaceAll(s, "\n", pad)
		},
		"default": func(otherwise, v any) any {
			if v == nil || v == "" {
				return otherwise
			}
			return v
		},
		"required": func(message string, v any) (any, error) {
			if v == nil || v == "" {
				return nil, errors.New(message)
			}
			return v, nil
		},
		"include": func(name string, data any) (string, error) {
			var b bytes.Buffer
			err := templates.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
	}
}

const chartDir = "../../docker/chart"

// renderChart gives the objects of the chart, by kind and name, with some values changed.
func renderChart(t *testing.T, change func(values object)) (objects map[string]object, err error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	require.NoError(t, err)
	values := readYAML(t, "values.yaml", string(text))[0]
	change(values)
	templates := template.New("chart").Option("missingkey=error")
	templates.Funcs(chartFunctions(templates))
	files, err := filepath.Glob(filepath.Join(chartDir, "templates", "*"))
	require.NoError(t, err)
	_, err = templates.ParseFiles(files...)
	require.NoError(t, err)
	data := object{
		"Values": values, "Release": object{"Name": "db", "Namespace": "prod"}, "Chart": object{"Name": "settee"},
	}
	objects = make(map[string]object)
	for _, file := range files {
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, filepath.Base(file), data); err != nil {
			return nil, err
		}
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		for _, o := range readYAML(t, file, b.String()) {
			require.NotEmpty(t, o["apiVersion"])
			name := fmt.Sprint(o["kind"], "/", at(o, "metadata", "name"))
			require.NotContains(t, objects, name)
			objects[name] = o
		}
	}
	return objects, nil
}

// TestChart: the objects of the chart name each other, nodes are drained before they are killed,
// and probes ask for what a server answers.
func TestChart(t *testing.T) {
	chart, err := os.ReadFile(filepath.Join(chartDir, "Chart.yaml"))
	require.NoError(t, err)
	require.Equal(t, "v2", readYAML(t, "Chart.yaml", string(chart))[0]["apiVersion"])
	_, err = renderChart(t, func(object) {})
	require.ErrorContains(t, err, "adminPassword")
	objects, err := renderChart(t, func(values object) {
		values["adminPassword"] = "secret"
		values["extraArgs"] = []any{"--override=/opt/couchdb/etc/override.ini"}
		values["prometheusPort"].(object)["enabled"] = true
		values["ingress"].(object)["enabled"] = true
		values["ingress"].(object)["className"] = "nginx"
		values["extraEnv"] = []any{object{"name": "X", "value": "y"}}
	})
	require.NoError(t, err)
	for _, kind := range []string{
		"StatefulSet", "Secret", "ConfigMap", "PodDisruptionBudget", "Service", "Ingress",
	} {
		require.Contains(t, objects, kind+"/db-settee")
	}
	require.Contains(t, objects, "Service/db-svc")
	set := objects["StatefulSet/db-settee"]
	labels := at(set, "spec", "template", "metadata", "labels")
	require.NotEmpty(t, labels)
	for _, selector := range []any{
		at(set, "spec", "selector", "matchLabels"),
		at(objects["PodDisruptionBudget/db-settee"], "spec", "selector", "matchLabels"),
		at(objects["Service/db-settee"], "spec", "selector"),
		at(objects["Service/db-svc"], "spec", "selector"),
	} {
		require.Equal(t, labels, selector)
	}
	require.Contains(t, objects, fmt.Sprint("Service/", at(set, "spec", "serviceName")))
	backend := at(objects["Ingress/db-settee"], "spec", "rules", 0, "http", "paths", 0, "backend", "service", "name")
	require.Equal(t, "db-svc", backend)
	require.Equal(t, 1, at(objects["PodDisruptionBudget/db-settee"], "spec", "maxUnavailable"))
	require.Contains(t, at(objects["ConfigMap/db-settee"], "data", "chart.ini"), "[chttpd]\nbind_address = any\n")

	pod := at(set, "spec", "template", "spec")
	node := at(pod, "containers", 0)
	args := at(node, "args").([]any)
	knownOptions(t, args)
	var drain time.Duration
	for _, arg := range args {
		if text, ok := strings.CutPrefix(arg.(string), "--drain="); ok {
			drain, err = time.ParseDuration(text)
			require.NoError(t, err)
		}
	}
	require.Positive(t, drain)
	grace := at(pod, "terminationGracePeriodSeconds").(int)
	require.Greater(t, time.Duration(grace)*time.Second, drain+drainTime, "killed before it has ended")
	read := at(node, "readinessProbe")
	failing := at(read, "periodSeconds").(int) * at(read, "failureThreshold").(int)
	require.LessOrEqual(t, time.Duration(failing)*time.Second, drain, "the port closes before the node is taken out")
	require.Equal(t, http.StatusOK, answered(t, at(read, "httpGet", "path").(string)))
	ports := map[any]any{}
	for _, port := range at(node, "ports").([]any) {
		ports[at(port, "name")] = at(port, "containerPort")
	}
	require.Equal(t, map[any]any{"couchdb": 5984, "metrics": 17986}, ports)
	require.Equal(t, "couchdb", at(read, "httpGet", "port"))
	require.Equal(t, "couchdb", at(node, "livenessProbe", "tcpSocket", "port"), "an outage of the store is no reason to die")
	require.Equal(t, "couchdb", at(objects["Service/db-svc"], "spec", "ports", 0, "targetPort"))
	for _, e := range at(node, "env").([]any) {
		if key := at(e, "valueFrom", "secretKeyRef"); key != nil && at(key, "optional") != true {
			require.Contains(t, objects, fmt.Sprint("Secret/", at(key, "name")))
			require.Contains(t, at(objects["Secret/db-settee"], "data"), at(key, "key"))
		}
	}
	volumes := map[any]bool{}
	for _, v := range at(pod, "volumes").([]any) {
		volumes[at(v, "name")] = true
	}
	for _, m := range at(node, "volumeMounts").([]any) {
		require.True(t, volumes[at(m, "name")], m)
	}
}
