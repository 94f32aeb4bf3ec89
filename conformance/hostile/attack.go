package main

import (
	"context"
	"slices"
	"time"
)

// attack is one way to harm a server.
type attack struct {
	name  string
	shows string  // what would happen to a server without defence
	short float64 // the scale at which go test runs it, too; 0: it does not
	alone bool    // changes the server for everybody, so that it is no part of a mix
	own   bool    // uses something that only settee has
	limit time.Duration
	// run performs the attack until it is through or ctx ends, and removes what it has set up. An
	// error is a fault of the server.
	run func(ctx context.Context, a *assault) error
}

// defaultLimit bounds attacks that name no limit.
const defaultLimit = 2 * time.Minute

// attacks are all there are, in the order of the table.
func attacks() []attack {
	return slices.Concat(
		bodyAttacks,
		patchAttacks,
		partAttacks,
		jsonAttacks,
		listAttacks,
		findAttacks,
		patternAttacks,
		searchAttacks,
		functionAttacks,
		blowupAttacks,
		accountAttacks,
		loginAttacks,
		processAttacks,
		wireAttacks,
		tlsAttacks,
		massAttacks,
		definitionAttacks,
		peerAttacks,
		pageAttacks,
		eventAttacks,
	)
}
