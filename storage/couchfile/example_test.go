package couchfile_test

import (
	"fmt"

	"github.com/settee-db/settee/storage/couchfile"
)

// The files of a CouchDB 1.x are read in place; of a cluster, name the data directory of each node.
// Revisions come in the order in which they lie in the file.
func ExampleOpen() {
	f, damages, err := couchfile.Open("/var/lib/couchdb/people.couch")
	if err != nil {
		fmt.Println("no such file")
		return
	}
	defer f.Close()
	for _, d := range damages {
		fmt.Println("lost:", d)
	}
	err = f.Revisions(0, func(r *couchfile.Revision) error {
		fmt.Println(r.ID, r.Revs.Rev(), r.Deleted)
		return nil
	}, func(d *couchfile.Damage) error {
		fmt.Println("lost:", d)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: no such file
}
