//go:build fdb

package conformance

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// With the tag fdb and a cluster, FoundationDB is one of the engines. Each data directory has a
// prefix of its own there, so that a server that starts again on the directory finds its data. The
// node is called as in the recordings.
func init() {
	if os.Getenv("FDB_CLUSTER_FILE") == "" {
		return
	}
	buildArgs = []string{"-tags=fdb"}
	buildEnv = "CGO_ENABLED=1" // for the client library
	run := rand.Text()[:12]
	args := []string{"--engine=fdb", "--node=couchdb@127.0.0.1"}
	Engines = append(Engines, Engine{Name: "fdb", args: args, env: func(dir string) string {
		sum := sha256.Sum256([]byte(dir))
		return "SETTEE_FDB_PREFIX=test-settee/" + run + "/" + hex.EncodeToString(sum[:6])
	}})
}
