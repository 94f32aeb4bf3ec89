package session

// MaxUserName is maxUserName.
const MaxUserName = maxUserName
