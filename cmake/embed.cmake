# Makes a C file that holds files as texts:
#     cmake -DOUTPUT=x.c -DNAME=starter_files -DFILES="a.c;b.md" -P embed.cmake
# defines `const embedded_file starter_files[]`, closed by one without a name (cli/embedded.h).
# upconv_embed(x.c NAME FILES...) is the same as a build step.
if(CMAKE_SCRIPT_MODE_FILE)
    set(arrays "")
    set(rows "")
    set(index 0)
    foreach(file IN LISTS FILES)
        file(READ ${file} hex HEX)
        string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
        string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
        get_filename_component(name ${file} NAME)
        file(SIZE ${file} size)
        string(APPEND arrays "static const unsigned char text_${index}[] = {\n${bytes}0};\n")
        string(APPEND rows "    {\"${name}\", (const char *)text_${index}, ${size}},\n")
        math(EXPR index "${index} + 1")
    endforeach()
    file(WRITE ${OUTPUT} "#include \"embedded.h\"\n${arrays}const embedded_file ${NAME}[] = {\n${rows}    {0, 0, 0}};\n")
    return()
endif()

set(upconv_embed_script ${CMAKE_CURRENT_LIST_FILE})
function(upconv_embed output name)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAME=${name} "-DFILES=${ARGN}" -P ${upconv_embed_script}
        DEPENDS ${ARGN} ${upconv_embed_script}
        VERBATIM)
endfunction()
