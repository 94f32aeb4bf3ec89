// Style sheets are imported for the build alone.
declare module '*.css'
