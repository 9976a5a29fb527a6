test "memory" {
  vars = { redis_memory = "2gb" }
  expect { order = ["PKG redis-server", "COPY * /etc/redis/shop.conf*", "UNIT redis-server.service*"] }
}
