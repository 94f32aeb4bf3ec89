package definition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// TestUnknownSettingsAreTold: settings that Couchbase had once, and those of nobody, are named in warning_info.
// One that had another name, and another unit, is refused.
func TestUnknownSettingsAreTold(t *testing.T) {
	s := definition.DefaultSettings()
	require.NoError(t, s.Merge([]byte(`{"rbacuser":"u","deadline_timeout":3,"worker_count":2}`), false))
	require.Equal(t, []string{
		"there is no setting deadline_timeout: it is not stored",
		"there is no setting rbacuser: it is not stored, a function has the rights of who deploys it",
	}, s.Warnings())
	err := s.Merge([]byte(`{"worker_count":3,"function_timeout":500}`), false)
	require.ErrorContains(t, err, "execution_timeout")
	require.EqualValues(t, 2, s.WorkerCount)
}

// TestUnknownMembersAreTold: members of no part of a function are named, with their places, and a request with
// very many has a short answer.
func TestUnknownMembersAreTold(t *testing.T) {
	told := func(text string, members ...string) {
		t.Helper()
		var expected []string
		for _, m := range members {
			expected = append(expected, "there is no member "+m+": it is not stored")
		}
		require.Equal(t, expected, parse(t, text, definition.ParseOptions{}).Warnings())
	}
	told(whole)
	told(strings.ReplaceAll(whole, `"alias"`, `"ALIAS"`)) // as encoding/json reads names
	told(strings.Replace(whole, `"appname":"f"`, `"id":7,"appname":"f","owner":{"settings":1}`, 1), "owner")
	told(strings.Replace(whole, `{"bucket":"*","scope":"*"}`, `{"bucket":"*","scope":"*","x":null}`, 1),
		"function_scope.x")
	told(strings.NewReplacer(`"source_bucket":"src"`, `"source":[{}],"source_bucket":"src"`,
		`"access":"r"`, `"acces":"r"`, `"auth_type":"basic"`, `"auth":"basic"`, `"literal":"true"`,
		`"literal":"true","type":"x"`).Replace(whole),
		"depcfg.buckets[1].acces", "depcfg.constants[0].type", "depcfg.curl[0].auth", "depcfg.source")

	f := parse(t, whole, definition.ParseOptions{})
	require.NoError(t, f.SetBindings([]byte(`{"source_bucket":"src","buckets":[{"alias":"d","bucket_name":"d","a.b":1}]}`)))
	require.Equal(t, []string{"there is no member buckets[0].a.b: it is not stored"}, f.Warnings())
	require.Error(t, f.SetBindings([]byte(`{"source_bucket":""}`)))
	require.Equal(t, "src", f.Bindings.SourceBucket)

	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `"%d%s":{"a":[1]},`, i, strings.Repeat("x", 10_000))
	}
	many.WriteString(whole[1:])
	f = parse(t, "{"+many.String(), definition.ParseOptions{})
	require.NoError(t, f.Settings.Merge([]byte("{"+strings.TrimSuffix(many.String(), whole[1:])+`"isolate":"worker"}`),
		false))
	list := f.Warnings()
	require.Contains(t, list, "there are more names of no member")
	require.Contains(t, list, "there are more names of no setting")
	require.Less(t, len(strings.Join(list, "")), 10_000)
}
