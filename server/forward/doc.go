// Package forward asks other nodes on the store what a client has asked this one: for one of them,
// or for what all of them know together.
//
//	forward.go   Nodes: who can be asked; a request passed on to one node, or to all others
//
// The other node identifies the user and asks for the rights again. A request that was passed on is
// not passed on once more: the node that gets it answers for itself (Passed).
package forward
