package auth

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
)

// TestSecretsAreRotated: whatever way a secret is replaced, it counts for the lifetime that cookies
// have then, and no longer; two within a moment both do. The model is a list of all replacements,
// searched from its end.
func TestSecretsAreRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "local.ini")
		c, err := config.Load(config.Stock(), file)
		require.NoError(t, err)
		s := ReadSettings(c, nil)
		c.Subscribe(func() { s = ReadSettings(c, s) })
		random := rand.New(rand.NewPCG(1, 2))
		var all []replaced // of the model, the oldest first
		current := ""
		set := map[string]func(value string) error{
			"memory": func(v string) error { _, err := c.Set("chttpd_auth", "secret", v, false); return err },
			"file":   func(v string) error { _, err := c.Set("chttpd_auth", "secret", v, true); return err },
			"reload": func(v string) error {
				timeout := int(s.Cookie.Timeout / time.Second)
				text := fmt.Sprintf("[chttpd_auth]\nsecret = %s\ntimeout = %d\n", v, timeout)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					return err
				}
				return c.Reload()
			},
		}
		ways := []string{"memory", "file", "reload"}
		for step := range 600 {
			switch random.IntN(4) {
			case 0:
				time.Sleep(time.Duration(random.IntN(200)) * time.Second)
			case 1:
				_, err := c.Set("chttpd_auth", "timeout", fmt.Sprint(random.IntN(4)*100), random.IntN(2) == 0)
				require.NoError(t, err)
			default:
				next := fmt.Sprintf("secret%d", random.IntN(8))
				require.NoError(t, set[ways[random.IntN(3)]](next))
				if current != next && current != "" {
					all = append(all, replaced{current, time.Now().Add(s.Cookie.Timeout)})
				}
				current = next
			}
			want, known := []string{current}, map[string]bool{current: true}
			for _, r := range slices.Backward(all) {
				if !known[r.secret] && r.until.After(time.Now()) {
					want = append(want, r.secret)
				}
				known[r.secret] = true // the last replacement says for how long
			}
			require.Equal(t, want, slices.Collect(s.Secrets(time.Now())), step)
		}
	})
}

// TestReplacedSecretsAreBounded: however often a secret is replaced, only the last ones are
// remembered; a lifetime of 0 forgets at once, and without a secret there is nothing to remember.
func TestReplacedSecretsAreBounded(t *testing.T) {
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	s := ReadSettings(c, nil)
	c.Subscribe(func() { s = ReadSettings(c, s) })
	replace := func(value string) {
		_, err := c.Set("chttpd_auth", "secret", value, false)
		require.NoError(t, err)
	}
	for i := range 3 * maxReplaced {
		replace(fmt.Sprint(i))
	}
	got := slices.Collect(s.Secrets(time.Now()))
	require.Len(t, got, maxReplaced+1)
	require.Equal(t, fmt.Sprint(3*maxReplaced-1), got[0])
	require.Equal(t, fmt.Sprint(3*maxReplaced-2), got[1])
	require.NotContains(t, got, "")
	_, err = c.Set("chttpd_auth", "timeout", "0", false)
	require.NoError(t, err)
	replace("last")
	require.NotContains(t, slices.Collect(s.Secrets(time.Now())), fmt.Sprint(3*maxReplaced-1))
}
