package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/settee-db/settee/config"
)

// Settings come from ini files over the built-in ones. A change that is to persist is written to the
// last file, and readers see it at once.
func Example() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "local.ini")
	if err := os.WriteFile(path, []byte("[couchdb]\n; a comment\nmax_document_size = 1000\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	c, err := config.Load(nil, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Int("couchdb", "max_document_size", -1), c.String("chttpd", "port"))
	old, err := c.Set("couchdb", "max_document_size", "2000", true)
	text, _ := os.ReadFile(path)
	fmt.Printf("%s %v\n%s", old, err, text)
	// Output:
	// 1000 5984
	// 1000 <nil>
	// [couchdb]
	// ; a comment
	// max_document_size = 2000
}
