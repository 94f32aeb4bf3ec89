package call

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSystemAccess(t *testing.T) {
	for _, c := range []struct {
		db, second string
		want       Access
	}{
		{"db", "", Member}, {"_users", "x", Member}, {"_users", "_all_docs", ServerAdmin},
		{"_replicator", "_changes", ServerAdmin}, {"_dbs", "", ServerAdmin}, {"_nosuch", "", ServerAdmin}, {"a/_users", "_all_docs", Member},
	} {
		require.Equal(t, c.want, systemAccess(c.db, c.second, Member), c.db)
	}
}
