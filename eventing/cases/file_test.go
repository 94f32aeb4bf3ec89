package cases

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/folder"
)

// FuzzParse: whatever a file has, it is read or refused, and what is read has cases that expect
// something.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../docs/examples/*" + folder.CasesSuffix)
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"cases":[{"steps":[{"advance":"-1s"},{"expect":{"log":null,"documents":{}}}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parse(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, list)
		for i := range list {
			expects := 0
			for j := range list[i].Steps {
				s := &list[i].Steps[j]
				require.GreaterOrEqual(t, s.advance, time.Duration(0))
				if s.Expect != nil {
					expects++
				}
			}
			require.NotZero(t, expects)
		}
	})
}
