# cmake -DNM=... -DOBJECTS=... -P check_symbols.cmake: what the objects of the kernel refer to.
#
# They write nothing, end nothing, start nothing, change nothing of the host and ask nothing of their surroundings: no
# function that could is even mentioned. Nothing is made when the library is loaded, nor destroyed at exit, when a thread of
# the host may still be in a call. What the C++ runtime brings is not looked at; it ends the process where an
# exception leaves a function that promised to throw none.
cmake_minimum_required(VERSION 3.21)
set(never
  "[a-z]*printf|[a-z]*put[cs]|putchar|perror|f?write|f?open|syslog|cout|cerr|clog|[io]stream|streambuf"
  "_?exit|_Exit|quick_exit|abort|terminate|raise|kill|__assert|__glibcxx_assert|longjmp"
  "pthread_create|std::thread|v?fork|clone|exec[lv]|system|popen|dlopen"
  "signal|sigaction|sigprocmask|alarm|setlocale|setenv|putenv|chdir|umask|setrlimit|srand|std::set_"
  "__cxa_atexit"
  "getenv|secure_getenv|std::random_device|gettimeofday|system_clock|localtime|rand|socket|connect")
string(JOIN "|" never ${never})
execute_process(COMMAND "${NM}" -C --undefined-only ${OBJECTS} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n +[UwvV] [^\n]+" asked "${text}")
list(TRANSFORM asked REPLACE "^\n +[UwvV] " "")
list(REMOVE_DUPLICATES asked)
list(LENGTH asked count)
if(count LESS 20 OR NOT "malloc" IN_LIST asked)
  message(FATAL_ERROR "${count} symbols only: ${asked}")
endif()
foreach(seen "__cxa_atexit" "std::cout" "fprintf" "abort" "std::terminate()" "__assert_fail")
  if(NOT seen MATCHES "(^|[^a-z])(${never})")
    message(FATAL_ERROR "${seen} would not be seen")
  endif()
endforeach()
list(FILTER asked INCLUDE REGEX "(^|[^a-z])(${never})")
if(asked)
  message(FATAL_ERROR "the kernel refers to ${asked}")
endif()
message("${count} symbols")
