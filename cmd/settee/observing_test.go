package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// opsDir has the dashboard and the alert rules.
var opsDir = filepath.Join("..", "..", "ops")

var (
	promText  = regexp.MustCompile(`"[^"]*"`)
	promGroup = regexp.MustCompile(`\b(?:by|without)\s*\(([^)]*)\)`)
	promRange = regexp.MustCompile(`\[[^\]]*\]`)
	// A name, with what follows it: selectors of labels, or the bracket of a function.
	promName  = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{[^}]*\}|\()?`)
	promMatch = regexp.MustCompile(`([a-zA-Z_]\w*)(=~|!~|!=|=)"([^"]*)"`)
	promWord  = map[string]bool{"or": true, "and": true, "unless": true, "on": true, "ignoring": true, "offset": true}
	// targetLabels are what Prometheus itself says of a server.
	targetLabels = map[string]bool{"job": true, "instance": true}
)

// printed are the series that a server prints: of each name the labels, one set for each series.
type printed map[string][]map[string]string

// readPrinted reads Prometheus' text form.
func readPrinted(t *testing.T, text string) printed {
	t.Helper()
	all := printed{"up": {{}}} // Prometheus itself makes this one
	line := regexp.MustCompile(`^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$`)
	for row := range strings.Lines(text) {
		if row = strings.TrimSpace(row); row == "" || row[0] == '#' {
			continue
		}
		m := line.FindStringSubmatch(row)
		require.NotNil(t, m, row)
		labels := map[string]string{}
		for _, l := range promMatch.FindAllStringSubmatch(m[2], -1) {
			labels[l[1]] = l[3]
		}
		all[m[1]] = append(all[m[1]], labels)
	}
	return all
}

// complaints are what an expression asks that the server does not print: names, labels, and values
// of labels that no series has.
func (p printed) complaints(expression string) (list []string) {
	bare := promRange.ReplaceAllString(promGroup.ReplaceAllString(expression, ""), "")
	used := map[string]bool{}
	names := 0
	for _, m := range promName.FindAllStringSubmatch(emptied(bare), -1) {
		if m[2] == "(" || promWord[m[1]] {
			continue
		}
		names++
		series, there := p[m[1]]
		if !there {
			list = append(list, "no metric "+m[1])
			continue
		}
		for _, labels := range series {
			for name := range labels {
				used[name] = true
			}
		}
	}
	if names == 0 {
		list = append(list, "no metric at all in "+expression)
	}
	for _, m := range regexp.MustCompile(`([a-zA-Z_:][\w:]*)\{([^}]*)\}`).FindAllStringSubmatch(bare, -1) {
		for _, label := range promMatch.FindAllStringSubmatch(m[2], -1) {
			if !targetLabels[label[1]] && !p.has(m[1], label[1], label[2], label[3]) {
				list = append(list, "no series of "+m[1]+" with "+label[0])
			}
		}
	}
	for _, m := range promGroup.FindAllStringSubmatch(expression, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if name = strings.TrimSpace(name); !used[name] && !targetLabels[name] {
				list = append(list, "no label "+name+" in "+expression)
			}
		}
	}
	return list
}

// emptied leaves nothing in the braces and the quotes, whose words are no metrics.
func emptied(expression string) string {
	return regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(promText.ReplaceAllString(expression, `""`), "{}")
}

// has reports whether a matcher takes a series of a metric.
func (p printed) has(metric, label, operator, value string) bool {
	pattern := regexp.MustCompile("^(?:" + value + ")$")
	if operator == "=" || operator == "!=" {
		pattern = regexp.MustCompile("^" + regexp.QuoteMeta(value) + "$")
	}
	for _, labels := range p[metric] {
		got, there := labels[label]
		if there && pattern.MatchString(got) == !strings.HasPrefix(operator, "!") {
			return true
		}
	}
	return false
}

// TestComplaints: what the test below looks for is found.
func TestComplaints(t *testing.T) {
	p := readPrinted(t, "# HELP a_total x\na_total{code=\"200\"} 1\nb{le=\"1\"} 2\nb{le=\"+Inf\"} NaN\nc 1e+06\n")
	for expression, want := range map[string][]string{
		`sum by (code) (rate(a_total{job="x",code=~"2.."}[5m])) > 0.5 * c or up == 0`: nil,
		`histogram_quantile(0.9, sum by (le, instance) (rate(b[$__rate_interval])))`:  nil,
		`rate(d_total[5m])`:               {"no metric d_total"},
		`a_total{code="201"}`:             {`no series of a_total with code="201"`},
		`a_total{kind="x"} + c`:           {`no series of a_total with kind="x"`},
		`sum by (method) (a_total) > 1`:   {"no label method in sum by (method) (a_total) > 1"},
		`1 > 0`:                           {"no metric at all in 1 > 0"},
		`c > 0 unless nosuch{code="200"}`: {"no metric nosuch", `no series of nosuch with code="200"`},
	} {
		require.Equal(t, want, p.complaints(expression), expression)
	}
}

// alert is a rule of ops/alerts.yml.
type alert struct{ name, expression, runbook string }

func readAlerts(t *testing.T) (list []alert) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(opsDir, "alerts.yml"))
	require.NoError(t, err)
	rules, _ := at(readYAML(t, "alerts.yml", string(text))[0], "groups", 0, "rules").([]any)
	for _, rule := range rules {
		name, _ := at(rule, "alert").(string)
		expression, _ := at(rule, "expr").(string)
		runbook, _ := at(rule, "annotations", "runbook_url").(string)
		list = append(list, alert{name, expression, runbook})
	}
	require.NotEmpty(t, list)
	return list
}

// TestDashboardAndAlertsAskWhatIsPrinted: each metric, label and value of a label that the
// dashboard and the alert rules name is one that a server on the embedded engine prints; each
// alert has a section in docs/alerts.md, which has no others; and each kind of warning has an alert.
func TestDashboardAndAlertsAskWhatIsPrinted(t *testing.T) {
	base, stop := startServe(t, dataOf(t))
	defer stop()
	// A map function, so that there are calls of JavaScript and jobs to label.
	mustAsk(t, base, "PUT /db", "")
	mustAsk(t, base, "PUT /db/a", "{}")
	mustAsk(t, base, "PUT /db/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc._id) }"}}}`)
	mustAsk(t, base, "GET /db/_design/d/_view/v", "")
	there := readPrinted(t, mustAsk(t, base, "GET /_node/_local/_prometheus", ""))

	text, err := os.ReadFile(filepath.Join(opsDir, "grafana.json"))
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	legend := regexp.MustCompile(`\{\{(\w+)\}\}`)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			require.Empty(t, there.complaints(target.Expr), panel.Title)
			for _, m := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				require.Empty(t, there.complaints("sum by ("+m[1]+") ("+target.Expr+")"), panel.Title)
			}
		}
	}
	for _, variable := range dashboard.Templating.List {
		if metric, of := strings.CutPrefix(variable.Query, "label_values("); of {
			require.Empty(t, there.complaints(metric[:strings.LastIndex(metric, ",")]), variable.Name)
		}
	}

	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "alerts.md"))
	require.NoError(t, err)
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (Settee\w+)$`).FindAllStringSubmatch(string(page), -1) {
		sections[m[1]] = true
	}
	kinds := map[string]bool{}
	for _, a := range readAlerts(t) {
		require.Empty(t, there.complaints(a.expression), a.name)
		require.True(t, sections[a.name], "docs/alerts.md has no section for %s", a.name)
		require.Equal(t, "https://github.com/settee-db/settee/blob/main/docs/alerts.md#"+strings.ToLower(a.name), a.runbook)
		delete(sections, a.name)
		if m := regexp.MustCompile(`settee_warnings\{.*id="(\w+)"`).FindStringSubmatch(a.expression); m != nil {
			kinds[m[1]] = true
			require.Contains(t, string(page), "`"+m[1]+"`", "the page says to which warning %s belongs", a.name)
		}
	}
	require.Empty(t, sections, "sections of alerts that there are not")
	for _, labels := range there["settee_warnings"] {
		require.True(t, kinds[labels["id"]], "no alert for the warning %s", labels["id"])
	}
}

// dataOf is a data directory whose administrator is the one of mustAsk.
func dataOf(t *testing.T) string {
	t.Helper()
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "password")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, localFile),
		[]byte("[chttpd_auth]\niterations = 10\n[log]\nlevel = none\n"), 0o600))
	return dir
}
