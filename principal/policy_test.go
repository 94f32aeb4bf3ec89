package principal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A password_regexp whose program would be large is one that cannot be read: it refuses new
// passwords.
func TestLargePolicyIsRefused(t *testing.T) {
	for setting, broken := range map[string]bool{
		`["^.{8,100}$",{"[0-9]","no digit"}]`:               false,
		`["` + strings.Repeat("a{1000}", 3000) + `"]`:       true,
		`["` + strings.Repeat(`x{1000}","`, 100) + `"]`:     true,
		`["(?:(?:ab){1000}c){3}","` + `(?:de){1000}` + `"]`: true,
	} {
		p := ParsePolicy(setting)
		require.Equal(t, broken, p.broken, "%.30s", setting)
	}
}
