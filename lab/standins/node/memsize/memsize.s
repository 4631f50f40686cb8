// Lets memsize.go declare a function without a body.
