module example.org/stint

go 1.24
