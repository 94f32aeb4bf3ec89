package config

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const referenceFile = "../../docs/configuration.md"

func TestReference(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(referenceFile, []byte(Reference()), 0o644))
	}
	text, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	require.Equal(t, Reference(), string(text), "stale: run go generate ./server/config")
}

func TestSettingsAreNamedOnce(t *testing.T) {
	seen := make(map[[2]string]bool)
	for _, s := range Settings {
		name := [2]string{s.Section, s.Key}
		require.False(t, seen[name], name)
		seen[name] = true
		require.NotEmpty(t, s.Doc, name)
	}
}
