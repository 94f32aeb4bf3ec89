package nodes

import (
	"bytes"
	"crypto/sha256"
)

// Share returns which process of a list, which must not be empty, has to do the work called name.
// All who see the same processes come to the same one, and when one comes or goes only what falls
// to it moves (rendezvous hashing).
func Share(name string, live []Member) ID {
	var best ID
	var most [sha256.Size]byte
	for i := range live {
		if weight := weigh(live[i].ID, name); i == 0 || bytes.Compare(weight[:], most[:]) > 0 {
			best, most = live[i].ID, weight
		}
	}
	return best
}

func weigh(id ID, name string) [sha256.Size]byte { return sha256.Sum256(append(id[:], name...)) }
