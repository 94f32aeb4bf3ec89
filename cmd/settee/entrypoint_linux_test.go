package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// entryPoint runs the image's entry script, with programs that say what they were asked to do, and
// returns what came out.
func entryPoint(t *testing.T, home string, env []string, args ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	for name, script := range map[string]string{
		"settee": `echo settee "$@"
[ -z "${SEEN:-}" ] || echo "$COUCHDB_USER|$COUCHDB_PASSWORD|$COUCHDB_SECRET" >"$SEEN"`,
		"id": "echo 5984",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	script, err := filepath.Abs("../../docker/docker-entrypoint.sh")
	require.NoError(t, err)
	cmd := exec.Command("/bin/sh", append([]string{script}, args...)...)
	cmd.Env = append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "SETTEE_HOME=" + home}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestContainerEntryPoint(t *testing.T) {
	home := t.TempDir()
	etc := filepath.Join(home, "etc")
	admin := []string{"COUCHDB_USER=admin", "COUCHDB_PASSWORD=x"}
	serve := "settee serve --config " + etc + "/default.ini --config " + etc + "/default.d --config " + etc + "/local.ini --config " + etc + "/local.d"

	out, err := entryPoint(t, home, nil)
	require.Error(t, err, "no administrator")
	require.Contains(t, out, "ERROR")
	require.FileExists(t, filepath.Join(etc, "local.d", "docker.ini"))

	for _, args := range [][]string{{}, {"couchdb"}, {"/opt/couchdb/bin/couchdb"}, {"settee"}, {"+A", "-name", "couchdb"}} {
		out, err = entryPoint(t, home, admin, args...)
		require.NoError(t, err, out)
		require.Equal(t, serve+"\n", out, args)
	}
	out, err = entryPoint(t, home, admin, "--engine=memory")
	require.NoError(t, err)
	require.Equal(t, serve+" --engine=memory\n", out)
	for _, contents := range []string{"a:b@127.0.0.1:4500", "other"} { // the second time there is one
		_, err = entryPoint(t, home, append(admin, "FDB_CLUSTER_FILE_CONTENTS="+contents), "--engine=fdb")
		require.NoError(t, err)
		file, err := os.ReadFile(filepath.Join(home, "data", "fdb.cluster"))
		require.NoError(t, err)
		require.Equal(t, "a:b@127.0.0.1:4500\n", string(file))
	}
	out, err = entryPoint(t, home, nil, "settee", "version")
	require.NoError(t, err)
	require.Equal(t, "settee version\n", out)
	out, err = entryPoint(t, home, nil, "echo", "hello")
	require.NoError(t, err)
	require.Equal(t, "hello\n", out)

	ini := filepath.Join(etc, "local.d", "admin.ini")
	require.NoError(t, os.WriteFile(ini, []byte("[admins]\n; admin = no\n\n[log]\nlevel = info\n"), 0o600))
	_, err = entryPoint(t, home, nil)
	require.Error(t, err, "a comment makes no administrator")
	require.NoError(t, os.WriteFile(ini, []byte("[log]\nlevel = info\n[admins]\nanna = secret\n"), 0o600))
	out, err = entryPoint(t, home, nil)
	require.NoError(t, err, out)
	require.Equal(t, serve+"\n", out)
}

// TestContainerSecretFiles: what is in files counts as what is in the environment; a file that is
// not there, or both, is told.
func TestContainerSecretFiles(t *testing.T) {
	dir := t.TempDir()
	var env []string
	for name, text := range map[string]string{
		"COUCHDB_USER": "anna\n", "COUCHDB_PASSWORD": `a "$(b)" c`, "COUCHDB_SECRET": "s",
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		env = append(env, name+"_FILE="+file)
	}
	home := t.TempDir()
	seen := filepath.Join(dir, "seen")
	out, err := entryPoint(t, home, append(env, "SEEN="+seen))
	require.NoError(t, err, out)
	text, err := os.ReadFile(seen)
	require.NoError(t, err)
	require.Equal(t, `anna|a "$(b)" c|s`+"\n", string(text))

	out, err = entryPoint(t, home, append(env, "COUCHDB_SECRET=other"))
	require.Error(t, err)
	require.Contains(t, out, "COUCHDB_SECRET and COUCHDB_SECRET_FILE are both set")
	out, err = entryPoint(t, home, []string{"COUCHDB_USER=anna", "COUCHDB_PASSWORD_FILE=" + dir + "/none"})
	require.Error(t, err)
	require.Contains(t, out, "COUCHDB_PASSWORD_FILE names cannot be read")
}
