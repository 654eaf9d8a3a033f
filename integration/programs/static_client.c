/* SPDX-License-Identifier: Apache-2.0
   static_client NAME PORT: prints what a server says first. For musl, whose resolver is its own. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char** argv)
{
    struct addrinfo hints = {0};
    struct addrinfo* found = NULL;
    hints.ai_socktype = SOCK_STREAM;
    if (argc != 3)
        return 2;
    const int code = getaddrinfo(argv[1], argv[2], &hints, &found);
    if (code != 0) {
        fprintf(stderr, "%s\n", gai_strerror(code));
        return 1;
    }
    const int fd = socket(found->ai_family, SOCK_STREAM, 0);
    char said[256] = {0};
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0 ||
        read(fd, said, sizeof said - 1) <= 0) {
        perror(argv[1]);
        return 1;
    }
    puts(strstr(said, "hello from outside") ? "the page" : said);
    return 0;
}
