package admin_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
)

// TestAutoReload: the ini files are read again every auto_reload_secs after the last change, also
// after one that could not be read; without the setting, or with one that is no time, they are not.
func TestAutoReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "local.ini")
		write := func(text string) {
			t.Helper()
			require.NoError(t, os.WriteFile(file, []byte("[admins]\nadmin = secret\n"+text), 0o600))
		}
		write("[config]\nauto_reload_secs = 60\n")
		c, err := config.Load(config.Stock(), file)
		require.NoError(t, err)
		servertest.Start(t, server.Options{Config: c})
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		write("[config]\nauto_reload_secs = 60\n[couchdb]\nmax_document_size = 1\n")
		pass(59 * time.Second)
		require.NotEqual(t, "1", c.String("couchdb", "max_document_size"))
		pass(2 * time.Second)
		require.Equal(t, "1", c.String("couchdb", "max_document_size"))
		require.Contains(t, c.String("admins", "admin"), "-pbkdf2", "clear passwords are hashed")
		require.NoError(t, os.Rename(file, file+".away"))
		require.NoError(t, os.Mkdir(file, 0o700))
		require.NoError(t, os.Symlink(".", filepath.Join(file, "x.ini")))
		pass(30 * time.Second)
		_, err = c.Set("log", "level", "debug", false)
		require.NoError(t, err)
		pass(59 * time.Second)
		require.Equal(t, "debug", c.String("log", "level"), "the time begins anew with a change")
		pass(5 * time.Minute)
		require.NoError(t, os.RemoveAll(file))
		write("[couchdb]\nmax_document_size = 2\n")
		pass(61 * time.Second)
		require.Equal(t, "2", c.String("couchdb", "max_document_size"))
		write("[config]\nauto_reload_secs = 1\n[couchdb]\nmax_document_size = 3\n")
		pass(time.Hour)
		require.Equal(t, "2", c.String("couchdb", "max_document_size"), "nothing says that files are read again")
	})
}
