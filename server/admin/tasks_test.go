package admin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/compactions"
)

func TestCompactionTask(t *testing.T) {
	h := &Handlers{env: &call.Env{Node: call.NodeName}}
	task := h.compactionTask(compactions.Compaction{Database: "db", Done: 3, Total: 4})
	require.Regexp(
		t,
		`^{"node":"couchdb@127.0.0.1","pid":"<0\.\d+\.0>","process_status":"waiting","changes_done":3,"database":"db",`+
			`"phase":"document_copy","progress":75,"started_on":-?\d+,"total_changes":4,"type":"database_compaction","updated_on":-?\d+}$`,
		string(task.append(nil)),
	)
}
