package main

import (
	"archive/zip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

const modulePath = "github.com/settee-db/settee"

// TestInstallFromAProxy: `go install …@latest` builds the program from what a module proxy has of
// the tree, as it is for somebody who has nothing but Go: all that is embedded or generated is in
// the files that git knows, go.mod replaces nothing, and the program says its version.
func TestInstallFromAProxy(t *testing.T) {
	kvtest.Long(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	temp := t.TempDir()
	serveModule(t, root, filepath.Join(temp, "proxy", modulePath, "@v"))

	cached := output(t, root, nil, "go", "env", "GOMODCACHE")
	env := []string{ // without the database of checksums: the libraries are those that go.sum was held to
		"GOPROXY=file://" + filepath.Join(temp, "proxy") + ",file://" + filepath.Join(cached, "cache", "download"),
		"GOMODCACHE=" + filepath.Join(temp, "modules"), "GOBIN=" + filepath.Join(temp, "bin"),
		"GOFLAGS=-modcacherw -trimpath", "GOSUMDB=off", "GOWORK=off", "CGO_ENABLED=0",
	}
	output(t, temp, env, "go", "install", modulePath+"/cmd/settee@latest")
	require.Contains(t, output(t, temp, nil, filepath.Join(temp, "bin", "settee"), "version"), "settee "+release+" (")
}

// serveModule lays out a version of the tree as the directory of a module proxy: the files that git
// knows, but those of modules of their own below it, as `go` takes them from a tag.
func serveModule(t *testing.T, root, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	files := strings.Split(strings.TrimSuffix(output(t, root, nil, "git", "ls-files", "-z"), "\x00"), "\x00")
	nested := map[string]bool{}
	for _, file := range files {
		if path.Base(file) == "go.mod" && file != "go.mod" {
			nested[path.Dir(file)] = true
		}
	}
	archive, err := os.Create(filepath.Join(dir, "v"+release+".zip"))
	require.NoError(t, err)
	defer archive.Close()
	w := zip.NewWriter(archive)
	for _, file := range files {
		if within(nested, file) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		entry, err := w.Create(modulePath + "@v" + release + "/" + file)
		require.NoError(t, err)
		_, err = entry.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for name, content := range map[string][]byte{
		"list": []byte("v" + release + "\n"), "v" + release + ".mod": mod,
		"v" + release + ".info": []byte(`{"Version":"v` + release + `"}`),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
}

// within reports whether a file lies in one of the directories or below it.
func within(dirs map[string]bool, file string) bool {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// output runs a command and returns what it printed, without the end of its last line.
func output(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s", name, args, &failure)
	return strings.TrimRight(string(out), "\n")
}
