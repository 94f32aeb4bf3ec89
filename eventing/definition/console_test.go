package definition_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// TestConsoleHidesSettingsWithoutEffect: the list in the console is what the table here says.
func TestConsoleHidesSettingsWithoutEffect(t *testing.T) {
	source, err := os.ReadFile("../../console/src/pages/functions/settings.ts")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(source), "WITHOUT_EFFECT = new Set([")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "])")
	var hidden, without []string
	for _, m := range regexp.MustCompile(`'(\w+)'`).FindAllStringSubmatch(list, -1) {
		hidden = append(hidden, m[1])
	}
	for _, row := range definition.SettingTable {
		if strings.Contains(row.Doc, "o effect") {
			without = append(without, row.Name)
		}
	}
	require.ElementsMatch(t, without, hidden)
}
