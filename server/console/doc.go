// Package console serves the console at /_console/: an application that runs in the browser and does everything through
// the API, as the user who is signed in. Its source is the folder console at the root of the tree.
//
//	console.go  the routes and the policy of the files
//	dist/       the built files, compressed: index.html, and scripts and styles whose names have their content's hash
//
// # Invariants
//
//  1. The files hold nothing that is secret, so that everybody gets them: what they show is asked of the API.
//  2. Nothing of another server is loaded, and no script or style that is not one of these files is run: the policy of
//     every answer says so.
package console
