package mango_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
)

// TestPlans shows which index a query takes, over which range, and why it takes no other:
// testdata/plans. `go test ./mango -run TestPlans -rewrite` writes down what is planned now.
//
//	indexes            there are none but that of all ids
//	index name=…       one more; the input is what _index gets as "index"
//	plan               the input is the body of _find
func TestPlans(t *testing.T) {
	w := &world{}
	datadriven.RunTest(t, "testdata/plans", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "indexes":
			w.designs = map[string]string{}
		case "index":
			var name string
			d.ScanArgs(t, "name", &name)
			v, err := ejson.Parse([]byte(fmt.Sprintf(`{"ddoc":%q,"name":%q,"index":%s}`, name, name, d.Input)))
			check(t, err)
			definition, err := mango.ParseDefinition(v, false)
			check(t, err)
			body, err := definition.AddTo(ejson.Value{}, false)
			check(t, err)
			w.designs[definition.DDoc] = string(body)
		case "plan":
			p, err := w.plan(t, d.Input)
			if err != nil {
				return err.Error() + "\n"
			}
			text, err := p.AppendExplain(t.Context(), &mango.Source{}, nil, "db")
			check(t, err)
			return planText(t, text)
		default:
			d.Fatalf(t, "unknown command")
		}
		return ""
	})
}

// planText is what _explain says, without what it repeats of the request.
func planText(t *testing.T, explained []byte) string {
	v, err := ejson.Parse(explained)
	check(t, err)
	get := func(v ejson.Value, path ...string) ejson.Value {
		for _, name := range path {
			v, _ = v.Get(name)
		}
		return v
	}
	var b strings.Builder
	fmt.Fprintf(&b, "index %s\n", get(v, "index", "name").AppendJSON(nil))
	fmt.Fprintf(
		&b,
		"from %s to %s, %s\n",
		get(v, "mrargs", "start_key").AppendJSON(nil),
		get(v, "mrargs", "end_key").AppendJSON(nil),
		get(v, "mrargs", "direction").Text(),
	)
	if string(get(v, "covering").AppendJSON(nil)) == "true" {
		b.WriteString("covering\n")
	}
	for candidate := range get(v, "index_candidates").Elements() {
		fmt.Fprintf(&b, "not %s: ", get(candidate, "index", "name").AppendJSON(nil))
		separator := ""
		for reason := range get(candidate, "analysis", "reasons").Elements() {
			b.WriteString(separator + get(reason, "name").Text())
			separator = ", "
		}
		b.WriteByte('\n')
	}
	return b.String()
}
