module example.org/rank

go 1.19
