package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/eventing/definition"
)

// functions draws functions with few names, codes, settings, passwords and states.
func functions(t *rapid.T, label string) (list []*definition.Function) {
	for _, name := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, label+" has "+name) {
			pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label+name+what) }
			text := fmt.Sprintf(`{"appname":%q,"appcode":%q,"function_scope":%s,
				"depcfg":{"source_bucket":"src","curl":[{"value":"u","hostname":%q,"auth_type":"basic","username":%q,"password":%q}]},"settings":%s}`,
				name, pick("code", "1", "2\n3", "2\n4"), pick("scope", `{}`, `{"bucket":"db","scope":"_default"}`),
				pick("host", "https://x", "https://y/z"), pick("user", "v", "w"), pick("password", "p", "q"),
				pick("settings", `{}`, `{"worker_count":2}`, `{"description":"x"}`))
			f, err := definition.Parse([]byte(text), definition.ParseOptions{})
			require.NoError(t, err)
			states := []definition.State{definition.Undeployed, definition.Paused, definition.Deployed}
			state := rapid.SampledFrom(states).Draw(t, label+name)
			f.Settings.Deployment, f.Settings.Processing = state.Statuses()
			list = append(list, f)
		}
	}
	return list
}

// do does what a server would do for a plan, step by step, by its own rules.
func do(t *rapid.T, server []*definition.Function, changes []*Change) (after []*definition.Function) {
	byRef := map[definition.Ref]*definition.Function{}
	for _, f := range server {
		byRef[f.Ref()] = f
	}
	states := map[definition.Ref]definition.State{}
	for ref, f := range byRef {
		states[ref] = stateOf(f)
	}
	operate := func(ref definition.Ref, op definition.Operation) {
		from, known := states[ref]
		require.True(t, known)
		to, err := from.Begin(op, ref.Name)
		require.NoError(t, err)
		states[ref] = to.Target()
	}
	for _, c := range changes {
		require.NotContains(t, c.Diff, `"p"`)
		if c.Pause {
			operate(c.Ref, definition.OpPause)
		}
		if c.Store != nil {
			f := c.Store.Clone()
			_, err := f.KeepSecrets(byRef[c.Ref])
			require.NoError(t, err)
			if before := byRef[c.Ref]; before != nil {
				require.NoError(t, definition.CheckChange(states[c.Ref], before, f))
				require.NotEmpty(t, c.Diff)
			} else {
				states[c.Ref] = definition.Undeployed
			}
			byRef[c.Ref] = f
		}
		if c.Then != "" {
			operate(c.Ref, c.Then)
		}
		if c.Delete {
			require.Equal(t, definition.Undeployed, states[c.Ref])
			delete(byRef, c.Ref)
		}
	}
	for ref, f := range byRef {
		g := f.Clone()
		g.Settings.Deployment, g.Settings.Processing = states[ref].Statuses()
		after = append(after, g)
	}
	return after
}

// shown are functions as a server shows them, by name.
func shown(list []*definition.Function) (out []*definition.Function) {
	for _, f := range list {
		out = append(out, f.Shown(stateOf(f)))
	}
	return out
}

// TestPlan: whatever a server and a folder have, the plan is possible step by step, nothing is left
// to do after it, and each function is what its file says.
func TestPlan(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		server, wanted := functions(t, "server"), functions(t, "folder")
		prune := rapid.Bool().Draw(t, "prune")
		changes, err := Plan(shown(server), wanted, prune)
		require.NoError(t, err)
		after := do(t, server, changes)
		again, err := Plan(shown(after), wanted, prune)
		require.NoError(t, err)
		require.Empty(t, again)
		of := map[definition.Ref]*definition.Function{}
		for _, f := range after {
			of[f.Ref()] = f
		}
		for _, f := range wanted {
			g := of[f.Ref()]
			require.NotNil(t, g)
			require.Equal(t, f.Code, g.Code)
			require.Equal(t, f.Masked().Bindings, g.Masked().Bindings)
			if stateOf(f) == definition.Deployed {
				require.Equal(t, definition.Deployed, stateOf(g))
			}
		}
		if prune {
			require.Len(t, after, len(wanted))
		}
		for _, f := range shown(after) {
			require.NoError(t, Write(dir, f))
			g, err := Read(dir, base(f))
			require.NoError(t, err)
			diff, err := difference(f, g)
			require.NoError(t, err)
			require.Empty(t, diff)
		}
	})
}

// TestReadRefusesUnknownMembers: what a file has and nothing would keep is an error in it.
func TestReadRefusesUnknownMembers(t *testing.T) {
	dir := t.TempDir()
	text := `{"appname":"f","appcode":"function OnUpdate() {}","depcfg":{"source_bucket":"s","source":"s"},
		"settings":{"workers":2}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f.json"), []byte(text), 0o600))
	_, err := Read(dir, "f")
	require.ErrorContains(t, err, "functions and their settings have no depcfg.source, workers")
}
