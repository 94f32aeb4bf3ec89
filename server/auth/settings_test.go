package auth

import (
	"testing"
	"time"

	"github.com/settee-db/settee/config"
)

// TestNumbersOfOldSettings: a number comes from chttpd_auth, else from its old section; what is no
// number is not there.
func TestNumbersOfOldSettings(t *testing.T) {
	for _, c := range []struct {
		now, old string
		want     time.Duration
	}{
		{"", "", 600 * time.Second},
		{"10", "20", 10 * time.Second},
		{"", "20", 20 * time.Second},
		{"x", "20", 20 * time.Second},
		{"", "x", 600 * time.Second},
		{"x", "x", 600 * time.Second},
		{"-1", "", 0},
	} {
		stock := map[string]map[string]string{"chttpd_auth": {}, "couch_httpd_auth": {}}
		if c.now != "" {
			stock["chttpd_auth"]["timeout"] = c.now
		}
		if c.old != "" {
			stock["couch_httpd_auth"]["timeout"] = c.old
		}
		settings, err := config.Load(stock)
		if err != nil {
			t.Fatal(err)
		}
		if got := ReadSettings(settings, nil).Cookie.Timeout; got != c.want {
			t.Errorf("%q and %q of old: %v, want %v", c.now, c.old, got, c.want)
		}
	}
}
