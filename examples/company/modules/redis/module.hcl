# A cache that may be lost.
variable "redis_memory" {
  type    = string
  default = "512mb"
}

package "redis-server" {}
file "/etc/redis/shop.conf" {
  content = "maxmemory ${var.redis_memory}\nmaxmemory-policy allkeys-lru\nsave \"\"\nappendonly no\n"
  owner   = "redis"
  group   = "redis"
  mode    = "0640"
  after   = [package.redis-server]
  notify  = [service.redis-server.restart]
}
file_line "include" {
  path   = "/etc/redis/redis.conf"
  match  = "^include /etc/redis/shop"
  line   = "include /etc/redis/shop.conf"
  after  = [package.redis-server, file["/etc/redis/shop.conf"]]
  notify = [service.redis-server.restart]
}
service "redis-server" {
  enabled = true
  running = true
}
check "redis" {
  tcp = "127.0.0.1:6379"
}
