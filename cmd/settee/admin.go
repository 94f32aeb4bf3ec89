package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/admin"
	"github.com/settee-db/settee/server/auth"
)

// prepareAdmin makes sure that there is an administrator and that no password is stored in clear.
// COUCHDB_USER and COUCHDB_PASSWORD name one; without any, the first start makes one up and prints
// its password once. COUCHDB_SECRET is the secret of cookies where there is none yet, as in
// CouchDB's image.
func prepareAdmin(c *config.Config, out io.Writer) error {
	if err := admin.HashAdmins(c); err != nil {
		return err
	}
	_, known := c.Get("chttpd_auth", "secret")
	if secret := os.Getenv("COUCHDB_SECRET"); secret != "" && !known { // else it may be one that was set later
		kept, err := c.SetNew("chttpd_auth", "secret", secret)
		if err != nil {
			return fmt.Errorf("COUCHDB_SECRET: %w", err)
		}
		if kept == secret {
			c.FromEnvironment("chttpd_auth", "secret", "COUCHDB_SECRET")
		}
	}
	name, password := os.Getenv("COUCHDB_USER"), os.Getenv("COUCHDB_PASSWORD")
	if name != "" && password != "" {
		if _, ok := c.Get("admins", name); ok {
			return nil // as in CouchDB's image, the environment does not change a password
		}
		made, err := setAdmin(c, name, password)
		if made {
			c.FromEnvironment("admins", name, "COUCHDB_PASSWORD")
		}
		return err
	}
	if len(c.Section("admins")) > 0 {
		return nil
	}
	password = rand.Text()
	if made, err := setAdmin(c, "admin", password); err != nil || !made {
		return err // another process on the store was first
	}
	_, err := fmt.Fprintf(
		out,
		"Created the administrator \"admin\" with the password %s\nIt is not shown again. COUCHDB_USER and COUCHDB_PASSWORD set another one.\n",
		password,
	)
	return err
}

// setAdmin stores the password's hash for an administrator that there is not yet, and reports
// whether it did: of processes that start on a store at the same time one does.
func setAdmin(c *config.Config, name, password string) (made bool, err error) {
	hash, err := principal.HashAdmin(password, auth.ReadHashing(c))
	if err != nil {
		return false, err
	}
	stored, err := c.SetNew("admins", name, hash)
	if err != nil {
		return false, fmt.Errorf("administrator %q: %w", name, err)
	}
	return stored == hash, nil
}
